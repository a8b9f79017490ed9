package archtest

import (
	"go/ast"
	"go/token"
	"strings"
)

// state refuses init functions and package variables that could change. What is left: errors, compiled regular
// expressions, embedded files, and the proof that a type implements an interface.
func (c *checker) state(f File) {
	if f.Test() {
		return
	}
	for _, decl := range f.Syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil && decl.Name.Name == "init" {
				c.report(f, decl.Pos(), "init", "func init: nothing runs by being imported")
			}
		case *ast.GenDecl:
			if decl.Tok != token.VAR {
				continue
			}
			for _, spec := range decl.Specs {
				spec := spec.(*ast.ValueSpec)
				for i, name := range spec.Names {
					if name.Name == "_" {
						// With a type it is the proof that something has it.
						if spec.Type == nil && i < len(spec.Values) && called(spec.Values[i]) {
							c.report(f, name.Pos(), "_", "var _: nothing runs by being imported")
						}
						continue
					}
					if embedded(decl, spec) {
						continue
					}
					// var a, b = f() has one value for two names; no constant thing is made so.
					if i >= len(spec.Values) || !constant(f, spec.Values[i]) {
						c.report(f, name.Pos(), name.Name, "var %s: a package holds no state; make it a constant, a function, or a field of what a constructor gives", name)
					}
				}
			}
		}
	}
}

func called(value ast.Expr) bool {
	_, ok := value.(*ast.CallExpr)
	return ok
}

func embedded(decl *ast.GenDecl, spec *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{decl.Doc, spec.Doc} {
		if doc == nil {
			continue
		}
		for _, comment := range doc.List {
			if strings.HasPrefix(comment.Text, "//go:embed ") {
				return true
			}
		}
	}
	return false
}

// constant reports whether value is a call that makes something nobody can change.
func constant(f File, value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return false
	}
	for _, s := range []selector{{"errors", "New"}, {"fmt", "Errorf"}, {"regexp", "MustCompile"}} {
		if refersTo(f, call.Fun, s) {
			return true
		}
	}
	return false
}
