import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readCommandLine } from '../../../cli/args/args.ts'
import { BENCH_FLAGS, parseBenchOptions } from '../../../cli/load/options.ts'

const parse = (args: readonly string[]) => {
  const { words, flags } = readCommandLine('bench', args, BENCH_FLAGS)
  return parseBenchOptions(words, flags)
}
const text = (args: readonly string[]) => parse(args).target.bytes.toString('latin1')

t.test(
  'a path is requested from 127.0.0.1:8080 unless --address sets another gateway',
  async (t) => {
    const { target, connections, durationMs, rate, timeoutMs, output } = parse([
      '/greeter/hello?a=b',
    ])
    t.match(target, { host: '127.0.0.1', port: 8080, secure: false, method: 'GET' })
    t.match(
      { connections, durationMs, rate, timeoutMs, output },
      { connections: 64, durationMs: 10_000, timeoutMs: 10_000, output: 'text' },
    )
    t.equal(rate, undefined)
    t.equal(
      target.bytes.toString(),
      'GET /greeter/hello?a=b HTTP/1.1\r\nhost: 127.0.0.1:8080\r\nuser-agent: mx-bench\r\n\r\n',
    )
    t.match(parse(['/x', '--address', '[::1]:9000']).target, { host: '::1', port: 9000 })
  },
)

t.test('a URL determines host, port and TLS', async (t) => {
  t.match(parse(['get', 'https://gateway.example/x']).target, {
    host: 'gateway.example',
    port: 443,
    secure: true,
    method: 'GET',
  })
  t.match(parse(['http://localhost/x']).target, {
    host: 'localhost',
    port: 80,
    secure: false,
  })
})

t.test('a body is sent as typed, with POST and a detected content type', async (t) => {
  t.match(text(['/x', '--body', '007']), /^POST \/x [\s\S]*content-length: 3\r\n\r\n007$/)
  t.match(
    text(['PUT', '/x', '--body={"a":1}']),
    /^PUT [\s\S]*content-type: application\/json\r\n[\s\S]*\r\n\r\n\{"a":1\}$/,
  )
  const file = join(t.testdir(), 'body.txt')
  writeFileSync(file, 'ä')
  t.match(
    text(['/x', '--body', `@${file}`]),
    /content-type: text\/plain; charset=utf-8\r\ncontent-length: 2\r\n/,
  )
  t.match(
    text(['POST', '/x']),
    /content-length: 0\r\n\r\n$/,
    'a POST without a body has content-length: 0',
  )
})

t.test('headers are added, and replace the default ones', async (t) => {
  const sent = text([
    '/x',
    '--header',
    'Host: greeter.example',
    '--header',
    'X-A: 1',
    '--header',
    'x-a: 2',
    '--body',
    '{}',
    '--header',
    'content-type: a/b',
  ])
  t.match(sent, /host: greeter\.example\r\n[\s\S]*x-a: 1\r\nx-a: 2\r\n/)
  t.equal(sent.match(/host:/g)?.length, 1)
  t.equal(sent.match(/content-type:/g)?.length, 1)
})

const WRONG: readonly [args: readonly string[], message: RegExp][] = [
  [[], /^a path or URL is missing, such as \/greeter\/hello$/],
  [['GET', '/a', '/b'], /expected \[METHOD\] <path or URL>, got "GET \/a \/b"/],
  [['FETCH', '/a'], /method must be one of GET, .* got "FETCH"/],
  [['greeter/hello'], /expected a path such as .* or an http or https URL, got "greeter\/hello"/],
  [['ftp://host/x'], /expected .* http or https URL/],
  [['http://user:secret@host/x'], /a URL with credentials is not supported/],
  [['/x', '--address', 'nowhere'], /--address must be host:port, got "nowhere"/],
  [['/x', '--address', 'a/b:80'], /--address must be host:port/],
  [['/x', '--address', 'host:99999'], /--address must be host:port|expected .* URL/],
  [['/x', '--connections', '0'], /--connections must be a whole number from 1 to 10000, got "0"/],
  [['/x', '--connections', '1.5'], /--connections must be a whole number/],
  [['/x', '--rate', 'fast'], /--rate must be a number from/],
  [
    ['/x', '--duration', '10'],
    /--duration must be a duration .* got "10" without a unit: write 10ms or 10s/,
  ],
  [['/x', '--duration', 'none'], /--duration must be a duration/],
  [['/x', '--timeout', '0s'], /--timeout must be a duration/],
  [['/x', '--header', 'nonsense'], /--header must be "name: value", got "nonsense"/],
  [
    ['/x', '--header', 'x-a: b\r\nevil: 1'],
    /--header: header x-a must not contain control characters/,
  ],
  [['/x', '--header', 'Content-Length: 9'], /--header content-length cannot be set/],
  [['/x', '--body', '@/no/such/file'], /--body: ENOENT/],
  [['/x', '-o', 'xml'], /--output must be text or json, got "xml"/],
]

for (const [args, message] of WRONG) {
  t.test(
    `mx bench ${JSON.stringify(args.join(' '))} is rejected with the expected form`,
    async (t) => {
      t.throws(() => parse(args), { name: 'RangeError', message })
    },
  )
}
