import { headers as createHeaders, type Msg } from '@nats-io/transport-node'
import t from 'tap'
import { encodeHeaders, readHeaders } from '../../../../adapters/broker/nats/headers.ts'

/** A message as the library returns it: a view of the receive buffer. */
function toMessage(block: string, body = 'body'): Msg {
  const received = Buffer.from(`before${block}${body}behind`, 'latin1')
  const hdr = Buffer.byteLength(block, 'latin1')
  return {
    _rdata: new Uint8Array(received.buffer, received.byteOffset + 6, hdr + body.length),
    _msg: { hdr: block === '' ? -1 : hdr },
  } as unknown as Msg
}

const encode = (headers: Record<string, string>): string => {
  const encoded = encodeHeaders(headers)
  const bytes = (encoded.headers as unknown as { encode: () => Buffer }).encode()
  t.equal(bytes.length, encoded.bytes)
  return bytes.toString('latin1')
}

t.test('sends and receives header values as bytes', async (t) => {
  const every = String.fromCharCode(...Array.from({ length: 128 }, (_, i) => 128 + i))
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'x-bytes': every,
    'x-utf8': Buffer.from('à €').toString('latin1'),
    'x-colon': 'a: b',
    'x-empty': '',
    __proto__x: '1',
  }
  t.same({ ...readHeaders(toMessage(encode(headers))) }, headers)
})

t.test('encodes headers like the NATS client library', async (t) => {
  const message = createHeaders()
  message.append('content-type', 'text/plain')
  message.append('x-trace', '1')
  const expectedBytes = (message as unknown as { encode: () => Uint8Array }).encode()
  const encodedBytes = encode({ 'content-type': 'text/plain', 'x-trace': '1' })
  t.equal(encodedBytes, Buffer.from(expectedBytes).toString('latin1'))
})

t.test('encodes an empty list of headers as undefined', async (t) => {
  t.strictSame(encodeHeaders({}), { headers: undefined, bytes: 0 })
  t.strictSame(readHeaders(toMessage('')), {})
})

t.test('drops received headers that are invalid in a message', async (t) => {
  const block = [
    'NATS/1.0 503 No Responders',
    'Content-Type:application/json',
    'X-Many: 1',
    'x-many:  2 ',
    'Content-Length: 5',
    'a b: 1',
    ': 2',
    'x-control: a\x01b',
    'nothing',
    '__proto__: 3',
    '',
    '',
  ].join('\r\n')
  const headers = readHeaders(toMessage(block))
  t.strictSame(Object.entries(headers), [
    ['content-type', 'application/json'],
    ['x-many', '1, 2'],
    ['__proto__', '3'],
  ])
})
