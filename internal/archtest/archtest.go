// Package archtest proves the import rules of docs and ARCHITECTURE.md on the source itself.
//
// Its invariant: which package may import which, where a process may be started or ended, where memory may be touched
// without a type, and that no package holds state, are all said in one table here, and a file that breaks a rule fails
// the build with its path, its line and what it imports. It reads every Go file of the module, whatever its build tags
// say, so that a rule broken for another operating system only is found on this one. It refuses a package in a folder
// that no rule knows.
package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Module is the module's path: the first part of every import path of its own.
const Module = "edge"

// File is one parsed Go file.
type File struct {
	Path   string // from the module's root, with slashes
	Syntax *ast.File
	set    *token.FileSet
}

// Dir is the folder of the file's package.
func (f File) Dir() string { return path.Dir(f.Path) }

// Test reports whether the file is compiled into tests only.
func (f File) Test() bool { return strings.HasSuffix(f.Path, "_test.go") }

// Violation is one broken rule.
type Violation struct {
	Path string
	Line int
	What string
}

func (v Violation) String() string { return fmt.Sprintf("%s:%d: %s", v.Path, v.Line, v.What) }

// Load parses every Go file under root that the go command would look at: neither testdata nor vendor, nor a name that
// begins with a dot or an underscore.
func Load(root fs.FS) ([]File, error) {
	var files []File
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) || entry.IsDir() && (base == "testdata" || base == "vendor") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() || path.Ext(name) != ".go" {
			return nil
		}
		source, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, name, source, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, File{Path: name, Syntax: syntax, set: set})
		return nil
	})
	return files, err
}

// Exception is one place that breaks a rule for a reason that was reviewed. Thing is what it does: an import path, the
// name of a package variable, or PATH.NAME of what it uses.
type Exception struct{ File, Thing, Why string }

// Check applies every rule that can be seen in one file at a time, and gives what breaks them, sorted by place. An
// exception that nothing needs any more is a violation too.
func Check(files []File, exceptions []Exception) []Violation {
	c := checker{exceptions: exceptions, used: map[Exception]bool{}}
	for _, f := range files {
		c.imports(f)
		c.state(f)
		c.calls(f)
	}
	for _, e := range exceptions {
		if !c.used[e] {
			c.found = append(c.found, Violation{Path: e.File, What: "the exception for " + e.Thing + " isn't needed: remove it"})
		}
	}
	slices.SortFunc(c.found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.What, b.What))
	})
	return c.found
}

type checker struct {
	exceptions []Exception
	used       map[Exception]bool
	found      []Violation
}

// report notes that f does thing, which breaks a rule, unless that was reviewed.
func (c *checker) report(f File, at token.Pos, thing, format string, args ...any) {
	for _, e := range c.exceptions {
		if e.File == f.Path && e.Thing == thing {
			c.used[e] = true
			return
		}
	}
	c.found = append(c.found, Violation{Path: f.Path, Line: f.set.Position(at).Line, What: fmt.Sprintf(format, args...)})
}

// importPath is the path that spec names.
func importPath(spec *ast.ImportSpec) string {
	text, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value // the parser has accepted it, so this is unreachable; an odd path matches no rule
	}
	return text
}

// under reports whether the slash-separated name is dir or lies below it.
func under(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

func underAny(name string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return under(name, dir) })
}
