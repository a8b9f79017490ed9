package tools

// ArgumentOrder is the order in which a call writes the tool's parameters: the required ones as the signature has them,
// then the optional ones by name.
func (t Tool) ArgumentOrder() []string {
	s, err := parseShape(t.Parameters)
	if err != nil {
		return nil // Freeze lets only such schemas through as can be read
	}
	return s.order()
}
