package fault_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"edge/internal/fault"
)

// declaredCodes reads every constant of type Code out of the package's source.
func declaredCodes(t *testing.T) map[fault.Code]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[fault.Code]string{}
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.CONST {
			continue
		}
		for _, spec := range gen.Specs {
			spec := spec.(*ast.ValueSpec)
			if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Code" {
				t.Fatalf("codes.go: constant %s isn't of type Code", spec.Names[0])
			}
			for i, name := range spec.Names {
				text, err := strconv.Unquote(spec.Values[i].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				if earlier, ok := codes[fault.Code(text)]; ok {
					t.Errorf("%s and %s are the same code %q", earlier, name, text)
				}
				codes[fault.Code(text)] = name.Name
			}
		}
	}
	return codes
}

func TestEveryCodeHasExactlyOneRow(t *testing.T) {
	declared := declaredCodes(t)
	if len(declared) < 60 {
		t.Fatalf("only %d constants were read from codes.go", len(declared))
	}
	rows := map[fault.Code]int{}
	for _, row := range fault.Rows() {
		rows[row.Code]++
		if _, ok := declared[row.Code]; !ok {
			t.Errorf("row %q has no constant", row.Code)
		}
	}
	for code, name := range declared {
		if rows[code] != 1 {
			t.Errorf("%s (%q) has %d rows, want 1", name, code, rows[code])
		}
		if !strings.HasPrefix(name, "Code") {
			t.Errorf("%s: a code's name starts with Code", name)
		}
	}
}

func TestRowsAreWritten(t *testing.T) {
	snake := regexp.MustCompile(`^[a-z]+(_[a-z0-9]+)*$`)
	for _, row := range fault.Rows() {
		if !snake.MatchString(string(row.Code)) {
			t.Errorf("%q isn't snake_case", row.Code)
		}
		for what, text := range map[string]string{"meaning": row.Meaning, "hint": row.Hint} {
			first, _ := utf8.DecodeRuneInString(text)
			if text == "" || strings.HasSuffix(text, ".") || unicode.IsUpper(first) && !strings.HasPrefix(text, "Python") {
				t.Errorf("%s: the %s %q starts in lower case and has no full stop", row.Code, what, text)
			}
		}
		if row.Class == fault.Internal != (row.Code == fault.CodeInternal) || row.Class.Exit() == 1 != (row.Class == fault.Internal) {
			t.Errorf("%s: class %q is misspelt, or internal without need", row.Code, row.Class)
		}
	}
}

// The contract's table, word for word: a code may be added to a class, and none may leave it.
func TestContractCodes(t *testing.T) {
	contract := map[int]string{
		3: `conflicting_tool_options active_tool_limit_exceeded unsupported_type_hint missing_parameter_type_hint
			duplicate_tool_name return_direct_output_schema_required invalid_sample_file invalid_tool_name
			unsupported_permission tools_file_import_failed no_tools_found`,
		10: `imprint_not_found model_not_found runtime_not_found python_not_found`,
		11: `imprint_requires_tools imprint_tool_active_set_mismatch imprint_tool_schema_mismatch imprint_model_mismatch
			imprint_template_mismatch imprint_params_mismatch imprint_prefix_mismatch tools_file_changed`,
		12: `imprint_header_malformed imprint_payload_mismatch imprint_truncated imprint_trailing_data receipt_mismatch
			model_digest_mismatch`,
		13: `imprint_format_unsupported imprint_runtime_mismatch`,
		20: `invalid_tool_args unknown_tool tool_raised tool_result_schema_mismatch unsupported_tool_result
			runner_protocol_violation`,
		21: `runner_timeout tool_result_oversized tool_call_limit_exceeded context_full`,
		22: `tool_confirmation_required confirmation_token_invalid confirmation_expired confirmation_already_claimed
			confirmation_binding_mismatch`,
		30: `engine_load_failed engine_decode_failed engine_restore_failed architecture_unsupported`,
	}
	for exit, codes := range contract {
		for _, code := range strings.Fields(codes) {
			row, ok := fault.Lookup(fault.Code(code))
			if !ok || row.Class.Exit() != exit {
				t.Errorf("%s: exit %d, in the table: %t; want %d", code, row.Class.Exit(), ok, exit)
			}
		}
	}
}
