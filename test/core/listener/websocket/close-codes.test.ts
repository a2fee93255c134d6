import t from 'tap'
import { isCloseCode, toReason } from '../../../../core/listener/websocket/close-codes.ts'

t.test('isCloseCode accepts the codes of RFC 6455 §7.4 and of the IANA registry', async (t) => {
  const sendable: number[] = []
  for (let code = 0; code < 6000; code++) if (isCloseCode(code)) sendable.push(code)
  const protocol = [1000, 1001, 1002, 1003, 1005, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014]
  const applicationCodes = Array.from({ length: 2000 }, (_, i) => 3000 + i)
  t.strictSame(sendable, [...protocol, ...applicationCodes])
  for (const code of [1000.5, Number.NaN, Number.POSITIVE_INFINITY, -1000]) {
    t.notOk(isCloseCode(code), String(code))
  }
})

t.test('a close reason is cut to 123 bytes without splitting a character', async (t) => {
  for (const [text, bytes] of [
    ['', 0],
    ['x'.repeat(123), 123],
    ['x'.repeat(124), 123],
    ['ü'.repeat(62), 122],
    [`x${'ü'.repeat(61)}`, 123],
    ['€'.repeat(41), 123],
    ['€'.repeat(42), 123],
    ['😀'.repeat(31), 120],
    [`xyz${'😀'.repeat(31)}`, 123],
    [`x${'😀'.repeat(31)}`, 121],
  ] as const) {
    const reason = toReason(text)
    t.equal(Buffer.byteLength(reason), bytes)
    t.ok(text.startsWith(reason))
  }
})
