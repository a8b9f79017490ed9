package fetch

import "io"

// WrapWriter lets a test put a failing writer between a download and its file.
func (c *Client) WrapWriter(wrap func(io.Writer) io.Writer) { c.wrap = wrap }
