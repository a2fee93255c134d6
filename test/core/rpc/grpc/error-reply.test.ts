import t from 'tap'
import { GatewayError } from '../../../../core/errors.ts'
import { HeaderList } from '../../../../core/http/headers.ts'
import { toWireError } from '../../../../core/rpc/grpc/error-reply.ts'

const error = new GatewayError('a', 404, 'gone', { headers: ['x-more', '1'] })
const encode = (fields: readonly string[], isHttp2 = true) =>
  toWireError(error, new HeaderList(fields), isHttp2)

t.test(
  'errors are in headers with gRPC, in the body with gRPC-Web and Connect streams',
  async (t) => {
    const grpc = encode(['content-type', 'application/grpc+proto'])!
    t.strictSame([grpc.status, grpc.rpcStatus, grpc.body.length], [200, 5, 0])
    t.equal(grpc.headers.get('grpc-status'), '5')
    t.equal(grpc.headers.get('grpc-message'), 'gone')
    t.equal(grpc.headers.get('x-more'), '1')
    t.equal(grpc.headers.get('content-type'), 'application/grpc+proto')
    const web = encode(['content-type', 'application/grpc-web+proto'], false)!
    t.equal(web.status, 200)
    t.match(`${web.body}`, /grpc-status: 5\r\ngrpc-message: gone\r\nx-more: 1\r\n/)
    const connect = encode(['content-type', 'application/connect+json'], false)!
    t.match(`${connect.body}`, /\{"error":\{"code":"not_found","message":"gone"\}/)
  },
)

t.test('an error of a unary Connect call has the HTTP status and a JSON body', async (t) => {
  const fields = ['content-type', 'application/json', 'connect-protocol-version', '1']
  const reply = encode(fields, false)!
  t.equal(reply.status, 404)
  t.equal(reply.body, '{"code":"not_found","message":"gone"}')
  t.equal(reply.headers.get('content-type'), 'application/json')
  t.equal(reply.headers.get('x-more'), '1')
})

t.test('other requests have no wire error', async (t) => {
  t.equal(encode([]), undefined)
  t.equal(encode(['content-type', 'application/json']), undefined)
  t.equal(encode(['content-type', 'application/grpc'], false), undefined, 'over HTTP/1.1')
})
