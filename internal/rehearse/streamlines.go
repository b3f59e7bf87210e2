package rehearse

// This file has the lines that the CLI prints.

import (
	"bytes"
	"encoding/json"
	"io"
)

// cliVersion is the CLI version that the agent imitates.
const cliVersion = "2.1.258"

type initLine struct {
	Type       string   `json:"type"`
	Subtype    string   `json:"subtype"`
	Cwd        string   `json:"cwd"`
	Session    string   `json:"session_id"`
	Tools      []string `json:"tools"`
	MCP        []string `json:"mcp_servers"`
	Model      string   `json:"model"`
	Permission string   `json:"permissionMode"`
	KeySource  string   `json:"apiKeySource"`
	Version    string   `json:"claude_code_version"`
	Rehearsal  bool     `json:"wavex_rehearsal"` // marks a rehearsal; the CLI has no such key
	UUID       string   `json:"uuid"`
}

type tokenLine struct {
	Input      int64 `json:"input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	Output     int64 `json:"output_tokens"`
}

type contentPart struct {
	Type  string `json:"type"` // "text", "tool_use"
	Text  string `json:"text,omitempty"`
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"`
	Input any    `json:"input,omitempty"`
}

type apiMessage struct {
	ID         string        `json:"id"`
	Type       string        `json:"type"`
	Role       string        `json:"role"`
	Model      string        `json:"model"`
	Content    []contentPart `json:"content"`
	StopReason *string       `json:"stop_reason"`
	Usage      tokenLine     `json:"usage"`
}

type assistantLine struct {
	Type    string     `json:"type"`
	Message apiMessage `json:"message"`
	Parent  *string    `json:"parent_tool_use_id"`
	Session string     `json:"session_id"`
	UUID    string     `json:"uuid"`
	Error   string     `json:"error,omitempty"`
}

// eventLine is an event of an API response (--include-partial-messages).
type eventLine struct {
	Type  string `json:"type"`
	Event struct {
		Type    string      `json:"type"` // "message_start", "message_delta"
		Message *apiMessage `json:"message,omitempty"`
		Usage   *outputLine `json:"usage,omitempty"`
	} `json:"event"`
	Session string  `json:"session_id"`
	Parent  *string `json:"parent_tool_use_id"`
	UUID    string  `json:"uuid"`
}

type outputLine struct {
	Output int64 `json:"output_tokens"`
}

type toolResult struct {
	Tool    string `json:"tool_use_id,omitempty"`
	Type    string `json:"type"` // "tool_result", "text"
	Text    string `json:"text,omitempty"`
	Content string `json:"content,omitempty"`
	IsError bool   `json:"is_error,omitempty"`
}

type userLine struct {
	Type    string `json:"type"`
	Message struct {
		Role    string       `json:"role"`
		Content []toolResult `json:"content"`
	} `json:"message"`
	Parent    *string `json:"parent_tool_use_id"`
	Session   string  `json:"session_id"`
	UUID      string  `json:"uuid"`
	Timestamp string  `json:"timestamp"`
	Result    any     `json:"tool_use_result,omitempty"`
}

type retryLine struct {
	Type    string  `json:"type"`
	Subtype string  `json:"subtype"`
	Attempt int     `json:"attempt"`
	Max     int     `json:"max_retries"`
	Delay   float64 `json:"retry_delay_ms"`
	Status  int     `json:"error_status"`
	Error   string  `json:"error"`
	Session string  `json:"session_id"`
	UUID    string  `json:"uuid"`
}

type limitLine struct {
	Type string `json:"type"`
	Info struct {
		Status      string  `json:"status"`
		ResetsAt    int64   `json:"resetsAt"` // epoch seconds
		Kind        string  `json:"rateLimitType"`
		Utilization float64 `json:"utilization,omitempty"`
		Overage     string  `json:"overageStatus"`
		UsesOverage bool    `json:"isUsingOverage"`
	} `json:"rate_limit_info"`
	UUID    string `json:"uuid"`
	Session string `json:"session_id"`
}

type modelLine struct {
	Input      int64   `json:"inputTokens"`
	Output     int64   `json:"outputTokens"`
	CacheRead  int64   `json:"cacheReadInputTokens"`
	CacheWrite int64   `json:"cacheCreationInputTokens"`
	CostUSD    float64 `json:"costUSD"`
}

type denialLine struct {
	Tool  string `json:"tool_name"`
	ID    string `json:"tool_use_id"`
	Input any    `json:"tool_input"`
}

// resultLine ends a turn. Result is a pointer because the CLI omits it in the error_* subtypes.
// Status is a pointer because the CLI writes null on success and after repeated 529s.
type resultLine struct {
	Type       string               `json:"type"`
	Subtype    string               `json:"subtype"`
	IsError    bool                 `json:"is_error"`
	Status     json.RawMessage      `json:"api_error_status,omitempty"`
	Duration   int64                `json:"duration_ms"`
	API        int64                `json:"duration_api_ms"`
	Turns      int64                `json:"num_turns"`
	Result     *string              `json:"result,omitempty"`
	Stop       *string              `json:"stop_reason"`
	Session    string               `json:"session_id"`
	Cost       float64              `json:"total_cost_usd"`
	Usage      tokenLine            `json:"usage"`
	Models     map[string]modelLine `json:"modelUsage"`
	Denials    []denialLine         `json:"permission_denials"`
	Structured json.RawMessage      `json:"structured_output,omitempty"`
	Terminal   string               `json:"terminal_reason,omitempty"`
	UUID       string               `json:"uuid"`
	Errors     []string             `json:"errors,omitempty"`
}

type controlLine struct {
	Type     string `json:"type"`
	Response struct {
		Subtype  string `json:"subtype"` // "success", "error"
		ID       string `json:"request_id"`
		Response any    `json:"response,omitempty"`
		Error    string `json:"error,omitempty"`
	} `json:"response"`
}

// encodeLine returns v as one line of JSON with a newline.
func encodeLine(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // every type above can be encoded
	}
	return b.Bytes()
}

// outputPipe writes to the reader of the agent and remembers that the reader has gone.
type outputPipe struct {
	w   io.Writer
	err error
}

func (p *outputPipe) write(b []byte) {
	if p.err == nil {
		_, p.err = p.w.Write(b)
	}
}

func (t tokenLine) plus(o tokenLine) tokenLine {
	return tokenLine{t.Input + o.Input, t.CacheWrite + o.CacheWrite, t.CacheRead + o.CacheRead, t.Output + o.Output}
}
