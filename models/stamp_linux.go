package models

import (
	"syscall"
	"time"
)

func changed(st *syscall.Stat_t) time.Time { return timeOf(st.Ctim) }
