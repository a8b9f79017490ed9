package models

import "os/exec"

// ownGroup leaves the command as it is: cancelling ends the client itself, and its helpers end with their pipes.
func ownGroup(*exec.Cmd) {}
