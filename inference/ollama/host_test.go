package ollama

import "testing"

func TestHost(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "http://127.0.0.1:11434",
		"0.0.0.0":                   "http://127.0.0.1:11434",
		"0.0.0.0:4000":              "http://127.0.0.1:4000",
		":4000":                     "http://127.0.0.1:4000",
		"localhost":                 "http://localhost:11434",
		"[::1]:4000":                "http://[::1]:4000",
		"::":                        "http://127.0.0.1:11434",
		"https://example.org":       "https://example.org:443",
		"http://example.org/ollama": "http://example.org:80/ollama",
	} {
		if got := host(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestOlder(t *testing.T) {
	for version, want := range map[string]bool{
		"0.12.11": true, "0.13.0": false, "0.13.0-rc1": false, "0.9.9": true, "0.24.0": false, "1.0": false, "1.0.0": false, "0.13": true, "0.0.0": false, "main": false, "v0.12.0": true,
	} {
		if got := older(version, minimum); got != want {
			t.Errorf("%s: older than %s: %v", version, minimum, got)
		}
	}
}
