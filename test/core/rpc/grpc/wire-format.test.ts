import t from 'tap'
import { toTrailers } from '../../../../core/rpc/grpc/status-codes.ts'
import { findWire, formatEnd, toWireBytes } from '../../../../core/rpc/grpc/wire-format.ts'

t.test('the content type selects protocol and codec', async (t) => {
  const rows: [string, boolean, string | undefined, string?][] = [
    ['application/grpc', true, 'grpc', 'proto'],
    ['application/grpc+proto', true, 'grpc', 'proto'],
    ['Application/gRPC+JSON; charset=utf-8', true, 'grpc', 'json'],
    ['application/grpc+thrift', true, 'grpc', 'thrift'],
    ['application/grpc', false, undefined],
    ['application/grpc-web', false, 'grpc-web', 'proto'],
    ['application/grpc-web+json', true, 'grpc-web', 'json'],
    ['application/grpc-web-text+proto', false, 'grpc-web-text', 'proto'],
    ['application/connect+json', false, 'connect', 'json'],
    ['application/connect', false, undefined],
    ['application/grpcs', true, undefined],
    ['application/grpc-webs', true, undefined],
    ['application/geo+json', true, undefined],
    ['application/json', true, undefined],
    ['text/plain', true, undefined],
  ]
  for (const [type, isHttp2, protocol, codec] of rows) {
    const wire = findWire(type, isHttp2)
    t.strictSame([wire?.protocol, wire?.codec], [protocol, codec], type)
  }
  t.equal(findWire(undefined, true), undefined)
})

t.test('the response has the content type of the request', async (t) => {
  for (const type of ['application/grpc', 'application/grpc-web+json', 'application/connect+proto'])
    t.equal(findWire(type, true)?.contentType, type)
})

t.test('a call ends with a trailer frame in gRPC-Web and a JSON frame in Connect', async (t) => {
  const trailers = toTrailers(5, 'no Jörg')
  trailers.append('a', '1')
  trailers.append('a', '2')
  const web = formatEnd(findWire('application/grpc-web', false)!, trailers)
  const text = 'grpc-status: 5\r\ngrpc-message: no J%C3%B6rg\r\na: 1\r\na: 2\r\n'
  t.same(web, Buffer.concat([Buffer.from([0x80, 0, 0, 0, text.length]), Buffer.from(text)]))
  const textFrame = formatEnd(findWire('application/grpc-web-text', false)!, trailers)
  t.same(Buffer.from(`${textFrame}`, 'base64'), web)
  const connect = Buffer.from(formatEnd(findWire('application/connect+json', false)!, trailers))
  t.equal(connect[0], 2)
  t.strictSame(JSON.parse(connect.toString('utf8', 5)), {
    error: { code: 'not_found', message: 'no Jörg' },
    metadata: { a: ['1', '2'] },
  })
  const ok = Buffer.from(formatEnd(findWire('application/connect+json', false)!, toTrailers(0)))
  t.equal(ok.toString('utf8', 5), '{}')
})

t.test('bytes are Base64 in grpc-web-text only', async (t) => {
  const bytes = Buffer.from('any')
  t.equal(toWireBytes(findWire('application/grpc-web', false)!, bytes), bytes)
  t.equal(`${toWireBytes(findWire('application/grpc-web-text', false)!, bytes)}`, 'YW55')
})
