package archtest

import (
	"go/ast"
	"strings"
)

func (c *checker) imports(f File) {
	if _, known := roomOf(f.Dir()); !known && !under(f.Dir(), leaves) {
		c.report(f, f.Syntax.Package, f.Dir(), "folder %s has no rule: give it a room in internal/archtest/rules.go", f.Dir())
	}
	for _, spec := range f.Syntax.Imports {
		name := importPath(spec)
		if spec.Name != nil && spec.Name.Name == "." {
			c.report(f, spec.Pos(), name, "imports %s with a dot, which hides where names come from", name)
		}
		for _, rule := range confinements() {
			if underAny(name, rule.imports) && !underAny(f.Dir(), rule.dirs) && !(rule.tests && f.Test()) {
				c.report(f, spec.Pos(), name, "imports %s: %s", name, rule.why)
			}
		}
		if !f.Test() {
			c.room(f, spec, name)
		}
	}
}

// room applies the rules between the module's own packages, and those of the leaves.
func (c *checker) room(f File, spec *ast.ImportSpec, name string) {
	target, own := strings.CutPrefix(name, Module+"/")
	if under(f.Dir(), leaves) {
		if (own || !standard(name)) && !underAny(name, leafExtras()[f.Dir()]) {
			c.report(f, spec.Pos(), name, "imports %s: a leaf imports the standard library only", name)
		}
		return
	}
	if !own {
		return
	}
	for _, adapter := range adapters() {
		if under(target, adapter) && !under(f.Dir(), adapter) && !underAny(f.Dir(), []string{program, measure}) {
			c.report(f, spec.Pos(), name, "imports %s: only %s and tests pick an adapter", name, program)
			return
		}
	}
	if may, why := mayImport(f.Dir(), target); !may {
		c.report(f, spec.Pos(), name, "imports %s: %s", name, why)
	}
}

// mayImport reports whether a package in folder from may import the module's package in folder to, and if not, why.
func mayImport(from, to string) (bool, string) {
	if under(to, leaves) {
		return !under(to, "internal/archtest"), "internal/archtest is for the build only"
	}
	here, ok := roomOf(from)
	if !ok {
		return false, "folder " + from + " has no rule"
	}
	there, ok := roomOf(to)
	switch {
	case !ok:
		return false, "folder " + to + " has no rule"
	case here.dir == there.dir, underAny(to, here.uses):
		return true, ""
	case len(here.uses) == 0:
		return false, here.dir + " imports leaves only; learn and chat compose"
	}
	return false, here.dir + " imports leaves and " + strings.Join(here.uses, ", ") + " only"
}

// standard reports whether name is a package of the standard library: its first part has no dot, and isn't the module.
func standard(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return !strings.Contains(first, ".") && first != Module
}
