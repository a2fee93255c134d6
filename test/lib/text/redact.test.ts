import t from 'tap'
import { hasSecretPart, redactUrl } from '../../../lib/text/redact.ts'

t.test('credentials before an @ are redacted, even in malformed URLs', async (t) => {
  const rows: [string, string][] = [
    ['postgres://u:p@ss@h:1/d', 'postgres://[hidden]@h:1/d'],
    ['consul://token@h:1?dc=a', 'consul://[hidden]@h:1?dc=a'],
    ['consul://to/ken@h:1', 'consul://[hidden]@h:1'],
    ['consul:/token@h:x', '[hidden]@h:x'],
    ['token/x@h', '[hidden]@h'],
    ['nats://u:p@a:1,nats://u:q@b:2', 'nats://[hidden]@b:2'],
    ['greeter=http://u:p@h:1', 'greeter=http://[hidden]@h:1'],
    ['mx://to\nken@h', 'mx://[hidden]@h'],
    ['nats://h:4222', 'nats://h:4222'],
    ['', ''],
  ]
  for (const [text, expected] of rows) t.equal(redactUrl(text), expected, text)
})

t.test('a schema with a write-only part at any depth is secret', async (t) => {
  t.equal(hasSecretPart({ properties: { a: { items: { writeOnly: true } } } }), true)
  t.equal(hasSecretPart({ properties: { writeOnly: { type: 'boolean' } } }), false)
  t.equal(hasSecretPart(undefined), false)
})
