package runner

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"syscall"

	"golang.org/x/sys/windows"
)

// group is a job object: all processes in it end when it is closed.
type group struct {
	job windows.Handle
}

func newGroup(cmd *exec.Cmd, l launch) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("runner: job object: %w", err)
	}
	limits := &windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if l.alone {
		limits.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		limits.BasicLimitInformation.ActiveProcessLimit = 1
	}
	// The call takes an address as a number; reflect gives one without package unsafe, and puts limits on the heap,
	// where it doesn't move.
	value := reflect.ValueOf(limits)
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, value.Pointer(), uint32(value.Elem().Type().Size()))
	runtime.KeepAlive(limits)
	if err != nil {
		windows.CloseHandle(job)
		return nil, fmt.Errorf("runner: job object limits: %w", err)
	}
	return &group{job: job}, nil
}

// adopt puts the process into the job. Until it has read its first frame it runs nothing of the tool's.
func (g *group) adopt(p *os.Process) error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(p.Pid))
	if err == nil {
		err = windows.AssignProcessToJobObject(g.job, h)
		windows.CloseHandle(h)
	}
	if err != nil {
		return fmt.Errorf("runner: job object: %w", err)
	}
	return nil
}

func (g *group) stop() { g.kill() }

func (g *group) kill() { windows.TerminateJobObject(g.job, 1) }

func (g *group) wait(cmd *exec.Cmd) {
	cmd.Wait()
	g.kill()
}

func (g *group) close() { windows.CloseHandle(g.job) }

// shrinkPipe isn't possible here: part of the interpreter's start counts as part of the call.
func shrinkPipe(*os.File) {}
