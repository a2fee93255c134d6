import t from 'tap'
import { createNodeListener } from '../../../../core/listener/node/listener.ts'
import { FRAME, Http2Raw, toFrame, toRequest } from '../../../fixtures/http2-raw.ts'
import { openListener } from '../../../fixtures/open-listener.ts'

const pseudo = (changes: Record<string, string | undefined>, ...fields: string[]) =>
  Object.entries({
    ':method': 'GET',
    ':scheme': 'http',
    ':authority': 'a.test',
    ':path': '/',
    ...changes,
  })
    .flatMap(([name, value]) => (value === undefined ? [] : [name, value]))
    .concat(fields)

const PAD = 'p'.repeat(1000)

/** Request heads that are rejected and not passed on. */
const rejected: [title: string, fields: string[]][] = [
  ['a path with a dot segment', pseudo({ ':path': '/a/../b' })],
  ['a path with an encoded slash', pseudo({ ':path': '/a%2Fb' })],
  ['a URL as path', pseudo({ ':path': 'http://b.test/' })],
  ['no path', pseudo({ ':path': undefined })],
  ['an empty path', pseudo({ ':path': '' })],
  ['a path with a space', pseudo({ ':path': '/a b' })],
  ['a path with a line end', pseudo({ ':path': '/a\r\nx: y' })],
  ['no scheme', pseudo({ ':scheme': undefined })],
  ['an unknown scheme', pseudo({ ':scheme': 'ftp' })],
  ['no method', pseudo({ ':method': undefined })],
  ['a method with a space', pseudo({ ':method': 'GET /x' })],
  ['a method with a line end', pseudo({ ':method': 'GET\r\nx: y' })],
  ['TRACE', pseudo({ ':method': 'TRACE' })],
  ['CONNECT', [':method', 'CONNECT', ':authority', 'b.test:80']],
  ['no authority and no Host', pseudo({ ':authority': undefined })],
  ['an empty authority', pseudo({ ':authority': '' })],
  ['an authority with a user', pseudo({ ':authority': 'a@b.test' })],
  ['a non-ASCII authority', pseudo({ ':authority': 'a\xe9.test' })],
  ['a Host that is not the authority', pseudo({}, 'host', 'b.test')],
  ['two Host headers', pseudo({ ':authority': undefined }, 'host', 'a.test', 'host', 'a.test')],
  ['a duplicate pseudo-header', [...pseudo({}), ':path', '/b']],
  [
    'a pseudo-header after other headers',
    [...pseudo({ ':path': undefined }, 'x-a', '1'), ':path', '/'],
  ],
  ['an unsupported pseudo-header', pseudo({}).concat(':protocol', 'websocket')],
  ['a pseudo-header of responses', [':status', '200', ...pseudo({})]],
  ['Connection', pseudo({}, 'connection', 'close')],
  ['Keep-Alive', pseudo({}, 'keep-alive', 'timeout=5')],
  ['Proxy-Connection', pseudo({}, 'proxy-connection', 'keep-alive')],
  ['Transfer-Encoding', pseudo({}, 'transfer-encoding', 'chunked')],
  ['Upgrade', pseudo({}, 'upgrade', 'websocket')],
  ['TE other than trailers', pseudo({}, 'te', 'gzip')],
  ['two Content-Length headers', pseudo({}, 'content-length', '0', 'content-length', '0')],
  ['a malformed Content-Length', pseudo({}, 'content-length', '+0')],
  ['a Content-Length without a body', pseudo({}, 'content-length', '5')],
  [
    'more than 16 KiB of headers',
    pseudo({}, ...Array.from({ length: 17 }, () => ['x-pad', PAD]).flat()),
  ],
  [
    'more than 32 KiB of headers',
    pseudo({}, ...Array.from({ length: 40 }, () => ['x-pad', PAD]).flat()),
  ],
  ['too many headers', pseudo({}, ...Array.from({ length: 1100 }, () => ['a', '']).flat())],
]

/** Headers that are removed, or that make the request invalid. */
const invalidHeaders: [name: string, value: string][] = [
  ['X-Upper', '1'],
  ['x a', '1'],
  ['x:a', '1'],
  ['', '1'],
  ['x\r\na', '1'],
  ['x-a', 'b\r\nx-injected: 1'],
  ['x-a', 'b\nc'],
  ['x-a', 'b\0c'],
  ['x_a', '1'],
  ['mx-account', 'root'],
  ['client-cert', ':AAAA:'],
]

t.test('request heads', async (t) => {
  const { port, served, faults } = await openListener(t, createNodeListener, (x) => x.reply(200), {
    http2: 'cleartext',
  })

  /** Sends a request; resolves with `200`, `400`, `reset`, or `refused` for any other status. */
  const sendRequest = async (fields: readonly string[]): Promise<string> => {
    const raw = new Http2Raw(port)
    const stream = raw.open(fields)
    try {
      const isEnd = ({ type }: { type: number }) =>
        type === FRAME.HEADERS || type === FRAME.RST_STREAM || type === FRAME.GOAWAY
      const { type, payload } = await raw.waitUntil(
        (frame) => isEnd(frame) && (frame.stream === stream || frame.stream === 0),
      )
      // Indexes of the static table (RFC 7541 appendix A): 200 is 8, 400 is 12; other statuses are literals.
      if (type !== FRAME.HEADERS) return 'reset'
      if (payload[0] === 0x88) return '200'
      return payload[0] === 0x8c ? '400' : 'refused'
    } finally {
      raw.destroy()
    }
  }

  for (const [title, fields] of rejected) {
    await t.test(`rejected: ${title}`, async (t) => {
      t.match(await sendRequest(fields), /^(400|refused|reset)$/)
      t.equal(served.length, 0)
    })
  }

  for (const [name, value] of invalidHeaders) {
    await t.test(`header not forwarded: ${JSON.stringify([name, value])}`, async (t) => {
      const status = await sendRequest(toRequest('/', name, value))
      const flat = served.splice(0).flatMap((x) => x.headers.flat)
      t.same(flat, [])
      t.match(status, /^(200|400|reset)$/)
    })
  }

  await t.test(
    'valid requests are served, including requests with Host instead of :authority',
    async (t) => {
      t.equal(
        await sendRequest(
          pseudo({ ':authority': undefined, ':path': '/a?b=c' }, 'host', 'Host.test:81'),
        ),
        '200',
      )
      t.equal(await sendRequest(pseudo({ ':authority': 'Same.test' }, 'host', 'same.test')), '200')
      t.equal(await sendRequest(pseudo({ ':method': 'OPTIONS', ':path': '*' })), '200')
      t.equal(
        await sendRequest(pseudo({}, ...Array.from({ length: 15 }, () => ['x-pad', PAD]).flat())),
        '200',
      )
      t.same(
        served.splice(0).map((x) => [x.method, x.host, x.target, x.headers.size]),
        [
          ['GET', 'Host.test:81', '/a?b=c', 0],
          ['GET', 'Same.test', '/', 0],
          ['OPTIONS', 'a.test', '*', 0],
          ['GET', 'a.test', '/', 15],
        ],
      )
    },
  )

  await t.test('a body longer or shorter than its Content-Length resets the stream', async (t) => {
    for (const body of ['four', 'sixsix']) {
      const raw = new Http2Raw(port)
      const stream = raw.open(pseudo({ ':method': 'POST' }, 'content-length', '5'), 0)
      raw.send(toFrame(FRAME.DATA, 1, stream, Buffer.from(body)))
      t.ok(
        await raw.waitUntil(({ type }) => type === FRAME.RST_STREAM || type === FRAME.GOAWAY),
        body,
      )
      raw.destroy()
    }
    served.length = 0
  })

  t.same(faults, [])
})
