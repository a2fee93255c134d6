import t from 'tap'
import { parseReply } from '../../../sdk/codec/reply-body.ts'

t.test('a response body is parsed as JSON; an empty one is an empty object', async (t) => {
  t.strictSame(parseReply('greeter', Buffer.from('{"a":"ä"}')), { a: 'ä' })
  t.strictSame(parseReply('greeter', Uint8Array.from(Buffer.from('[1]'))), [1])
  t.strictSame(parseReply('greeter', Buffer.alloc(0)), {})
  t.equal(parseReply('greeter', Buffer.from('{"a":1.0}'), true), '{"a":1.0}')
  t.equal(parseReply('greeter', Buffer.alloc(0), true), '{}')
})

t.test('a body that is not JSON results in 502, with the reason only as cause', async (t) => {
  for (const text of ['<html>', '{', '\u0000']) {
    try {
      parseReply('greeter', Buffer.from(text))
      t.fail(text)
    } catch (error) {
      t.match(error, { id: 'greeter', code: 502, cause: /invalid JSON/ })
      t.match((error as Error).message, /malformed response from greeter/)
    }
  }
})
