import t from 'tap'
import {
  type Block,
  readTrailers,
  rejectHead,
  toFields,
  toReplyHead,
} from '../../../../core/rpc/grpc/reply.ts'
import { findWire } from '../../../../core/rpc/grpc/wire-format.ts'

/** Casts to the type of the library, in which all values are strings. */
const toBlock = (fields: object): Block => fields as Block
const HEAD = { ':status': 200, 'content-type': 'application/grpc+proto' }

t.test(
  'a response head that is not gRPC is rejected with the HTTP status for its gRPC status',
  async (t) => {
    t.equal(rejectHead(toBlock(HEAD), 'a'), undefined)
    t.equal(rejectHead(toBlock({ ...HEAD, 'content-type': 'application/grpc' }), 'a'), undefined)
    const codes: [object, number][] = [
      [{ ...HEAD, 'content-type': 'text/html' }, 502],
      [{ ':status': 200 }, 502],
      [{ ...HEAD, ':status': 404 }, 501],
      [{ ...HEAD, ':status': 401 }, 401],
      [{ ...HEAD, ':status': 429 }, 503],
      [{ ...HEAD, ':status': 500 }, 502],
    ]
    for (const [head, code] of codes) t.equal(rejectHead(toBlock(head), 'a')?.code, code)
  },
)

t.test('the client gets the end-to-end headers with its own content type', async (t) => {
  const head = toBlock({ ...HEAD, date: 'now', 'grpc-encoding': 'gzip', a: ['1', '2'] })
  const web = toReplyHead(head, findWire('application/grpc-web+proto', false)!)
  t.strictSame(web.getAll('a'), ['1', '2'])
  t.equal(web.get('content-type'), 'application/grpc-web+proto')
  t.notOk(web.has('date'))
  t.equal(web.get('grpc-encoding'), 'gzip')
  const connect = toReplyHead(head, findWire('application/connect+proto', false)!)
  t.equal(connect.get('connect-content-encoding'), 'gzip')
  t.notOk(connect.has('grpc-encoding'))
})

t.test(
  'readTrailers moves the gRPC status out of the head of a response without body',
  async (t) => {
    const head = toFields(toBlock({ ...HEAD, 'grpc-status': '5', 'grpc-message': 'gone', a: '1' }))
    t.strictSame(readTrailers(head).flat, ['grpc-status', '5', 'grpc-message', 'gone'])
    t.strictSame(head.flat, ['content-type', 'application/grpc+proto', 'a', '1'])
  },
)
