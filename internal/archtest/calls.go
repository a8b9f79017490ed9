package archtest

import (
	"go/ast"
	"path"
	"strings"
)

func (c *checker) calls(f File) {
	if f.Test() {
		return
	}
	ast.Inspect(f.Syntax, func(node ast.Node) bool {
		for _, rule := range callRules() {
			if underAny(f.Path, rule.dirs) {
				continue
			}
			for _, s := range rule.names {
				if refersTo(f, node, s) {
					name := node.(*ast.SelectorExpr).Sel.Name
					c.report(f, node.Pos(), s.path+"."+name, "uses %s.%s: %s", s.path, name, rule.why)
				}
			}
		}
		return true
	})
}

// refersTo reports whether node is the imported name that s means.
func refersTo(f File, node ast.Node, s selector) bool {
	sel, ok := node.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok || pkg.Obj != nil { // the parser resolves what the file declares itself, and leaves imports alone
		return false
	}
	prefix, star := strings.CutSuffix(s.name, "*")
	if sel.Sel.Name != s.name && !(star && strings.HasPrefix(sel.Sel.Name, prefix)) {
		return false
	}
	for _, spec := range f.Syntax.Imports {
		if importPath(spec) != s.path {
			continue
		}
		local := path.Base(s.path)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if pkg.Name == local {
			return true
		}
	}
	return false
}
