package serve

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
)

// Over TCP nobody knows which user is at the other end. The server shows first that it knows the token, so that a client
// tells its environment to no other program that took the port; then the client's request carries the token.

type hello struct {
	Value string `json:"value"`
}

func proof(token, nonce string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(Protocol + " server " + nonce))
	return hex.EncodeToString(mac.Sum(nil))
}

// greet is the client's side.
func greet(conn net.Conn, token string) error {
	nonce := make([]byte, 32)
	rand.Read(nonce)
	asked := hello{hex.EncodeToString(nonce)}
	if err := writeJSON(conn, kindHello, asked); err != nil {
		return err
	}
	var answer hello
	if err := expect(conn, kindHello, &answer); err != nil {
		return err
	}
	if !equal(answer.Value, proof(token, asked.Value)) {
		return errors.New("serve: what listens at the port isn't the server that wrote the token")
	}
	return nil
}

// welcome is the server's side, for either kind of connection; it gives the token that the request must carry.
func (s *Server) welcome(conn net.Conn) (token string, err error) {
	if unix, ok := conn.(*net.UnixConn); ok {
		return "", samePeer(unix)
	}
	var asked hello
	if err := expect(conn, kindHello, &asked); err != nil {
		return "", err
	}
	if len(asked.Value) != 64 {
		return "", fmt.Errorf("serve: a nonce of %d digits", len(asked.Value))
	}
	return s.doors.token, writeJSON(conn, kindHello, hello{proof(s.doors.token, asked.Value)})
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
