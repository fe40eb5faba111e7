package amqp

import "encoding/binary"

// Protocol headers that open the SASL and the AMQP layer.
var (
	HeaderSASL = []byte{'A', 'M', 'Q', 'P', 3, 1, 0, 0}
	HeaderAMQP = []byte{'A', 'M', 'Q', 'P', 0, 1, 0, 0}
)

// Heartbeat is an empty frame.
var Heartbeat = []byte{0, 0, 0, 8, 2, 0, 0, 0}

// Performative is the body of a frame.
type Performative interface{ append(b []byte) []byte }

// AppendFrame appends a frame of performative p and, after it, payload.
func AppendFrame(b []byte, frameType byte, channel uint16, p Performative, payload ...[]byte) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0, 2, frameType, byte(channel>>8), byte(channel))
	b = p.append(b)
	for _, part := range payload {
		b = append(b, part...)
	}
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at))
	return b
}

func (p *Open) append(b []byte) []byte {
	b, at := begin(b, codeOpen)
	b = AppendString(b, p.ContainerID)
	b = append(b, 0x40)
	b = appendUint(b, p.MaxFrameSize)
	b = binary.BigEndian.AppendUint16(append(b, 0x60), p.ChannelMax)
	b = optUintOrNull(b, p.IdleTimeout)
	return patch(b, at, 5)
}

func (p *Begin) append(b []byte) []byte {
	b, at := begin(b, codeBegin)
	if p.RemoteChannel != nil {
		b = binary.BigEndian.AppendUint16(append(b, 0x60), *p.RemoteChannel)
	} else {
		b = append(b, 0x40)
	}
	b = appendUint(b, p.NextOutgoingID)
	b = appendUint(b, p.IncomingWindow)
	b = appendUint(b, p.OutgoingWindow)
	b = appendUint(b, p.HandleMax)
	return patch(b, at, 5)
}

func (p *Attach) append(b []byte) []byte {
	b, at := begin(b, codeAttach)
	b = AppendString(b, p.Name)
	b = appendUint(b, p.Handle)
	b = appendBool(b, p.Role)
	b = append(b, 0x50, p.SndSettleMode, 0x50, p.RcvSettleMode)
	b = rawOrNull(b, p.Source)
	b = rawOrNull(b, p.Target)
	b = append(b, 0x40, 0x40) // unsettled, incomplete-unsettled
	if !p.Role {              // a sender's
		b = appendUint(b, p.InitialDeliveryCount)
	} else {
		b = append(b, 0x40)
	}
	b = appendUlong(b, p.MaxMessageSize)
	return patch(b, at, 11)
}

func (p *Flow) append(b []byte) []byte {
	b, at := begin(b, codeFlow)
	b = optUint(b, p.NextIncomingID)
	b = appendUint(b, p.IncomingWindow)
	b = appendUint(b, p.NextOutgoingID)
	b = appendUint(b, p.OutgoingWindow)
	b = optUint(b, p.Handle)
	b = optUint(b, p.DeliveryCount)
	b = optUint(b, p.LinkCredit)
	b = append(b, 0x40) // available
	b = appendBool(b, p.Drain)
	b = appendBool(b, p.Echo)
	return patch(b, at, 10)
}

func (p *Transfer) append(b []byte) []byte {
	b, at := begin(b, codeTransfer)
	b = appendUint(b, p.Handle)
	b = optUint(b, p.DeliveryID)
	if p.DeliveryTag != nil {
		b = AppendBinary(b, p.DeliveryTag)
	} else {
		b = append(b, 0x40)
	}
	b = optUint(b, p.MessageFormat)
	b = appendBool(b, p.Settled)
	b = appendBool(b, p.More)
	return patch(b, at, 6)
}

func (p *Disposition) append(b []byte) []byte {
	b, at := begin(b, codeDisposition)
	b = appendBool(b, p.Role)
	b = appendUint(b, p.First)
	b = appendUint(b, p.Last)
	b = appendBool(b, p.Settled)
	if p.State == nil {
		return patch(append(b, 0x40), at, 5)
	}
	return patch(p.State.append(b), at, 5)
}

func (s *State) append(b []byte) []byte {
	b, at := begin(b, byte(s.Code))
	count := 0
	switch s.Code {
	case StateRejected:
		b, count = appendError(b, s.Error), 1
	case StateModified:
		b, count = appendBool(appendBool(b, s.DeliveryFailed), s.UndeliverableHere), 2
	}
	return patch(b, at, count)
}

func (p *Detach) append(b []byte) []byte {
	b, at := begin(b, codeDetach)
	b = appendUint(b, p.Handle)
	b = appendBool(b, p.Closed)
	return patch(appendError(b, p.Error), at, 3)
}

func (p *End) append(b []byte) []byte {
	b, at := begin(b, codeEnd)
	return patch(appendError(b, p.Error), at, 1)
}

func (p *Close) append(b []byte) []byte {
	b, at := begin(b, codeClose)
	return patch(appendError(b, p.Error), at, 1)
}

// SASLMechanisms offers mechanisms.
type SASLMechanisms struct{ Mechanisms []string }

func (p *SASLMechanisms) append(b []byte) []byte {
	b, at := begin(b, codeSASLMechanisms)
	offered := make(Array, len(p.Mechanisms))
	for i, name := range p.Mechanisms {
		offered[i] = Symbol(name)
	}
	b, _ = Append(b, offered) // symbols can always be encoded
	return patch(b, at, 1)
}

// SASLOutcome ends the SASL layer: 0 is success, 1 a failure of authentication.
type SASLOutcome struct{ Code uint8 }

func (p *SASLOutcome) append(b []byte) []byte {
	b, at := begin(b, codeSASLOutcome)
	return patch(append(b, 0x50, p.Code), at, 1)
}

func appendError(b []byte, e *Error) []byte {
	if e == nil {
		return append(b, 0x40)
	}
	b, at := begin(b, codeError)
	b = AppendSymbol(b, e.Condition)
	b = AppendString(b, e.Description)
	b = append(b, 0x40) // info, which the Python client reads without a look at the length
	return patch(b, at, 3)
}

func optUint(b []byte, v *uint32) []byte {
	if v == nil {
		return append(b, 0x40)
	}
	return appendUint(b, *v)
}

func optUintOrNull(b []byte, v uint32) []byte {
	if v == 0 {
		return append(b, 0x40)
	}
	return appendUint(b, v)
}

func rawOrNull(b, raw []byte) []byte {
	if len(raw) == 0 {
		return append(b, 0x40)
	}
	return append(b, raw...)
}
