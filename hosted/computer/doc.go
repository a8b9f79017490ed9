// Package computer lets a local model work a page in a browser without a window: Chromium, driven through the DevTools
// protocol. computer_use_preview looks and acts; computer_submit sends, after a person has confirmed it, one request that
// a page wanted to send.
//
// Invariants, in the order in which they hold:
//   - The browser reaches nothing but a proxy of this package, and that passes GET and HEAD to the pages that the options
//     name (and to public addresses, if the network is allowed), and to nothing else.
//   - What would submit something, a request with another method or the address that a form with method GET makes, is
//     stopped before it leaves the browser and recorded. Only computer_submit sends it: that one request, once.
//   - The browser and its profile are gone when the tool is closed, and the browser dies with edge.
package computer
