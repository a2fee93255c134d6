import t from 'tap'
import { compileOrigins } from '../../../../core/http/origin/origins.ts'

t.test('an origin matches if it is listed or a subdomain of a listed wildcard', async (t) => {
  const isListed = compileOrigins(['https://app.test', 'http://localhost:3000', 'https://*.b.test'])
  const rows: [string, boolean][] = [
    ['https://app.test', true],
    ['http://localhost:3000', true],
    ['https://x.b.test', true],
    ['https://x.y.b.test', true],
    ['https://b.test', false],
    ['http://x.b.test', false],
    ['https://xb.test', false],
    ['https://x.b.test:8443', false],
    ['https://evil.test/.b.test', false],
    ['https://evil.test?.b.test', false],
    ['https://.b.test', false],
    ['http://app.test', false],
    ['http://localhost', false],
    ['https://app.test.evil.test', false],
    ['null', false],
    ['', false],
  ]
  for (const [origin, listed] of rows) t.equal(isListed(origin), listed, origin)
})

t.test('the error for a malformed origin quotes it', async (t) => {
  for (const entry of ['app.test', 'https://app.test/', 'https://a*.test', 'null', '*', ''])
    t.throws(() => compileOrigins([entry]), {
      name: 'RangeError',
      message: `origins must be like https://app.example.com, http://localhost:3000, https://*.example.com or *, got ${JSON.stringify(entry)}`,
    })
})

t.test(
  'an origin with the default port of its scheme, which browsers omit, is rejected',
  async (t) => {
    for (const entry of ['https://app.test:443', 'http://*.app.test:80'])
      t.throws(() => compileOrigins([entry]), /^origins must omit the default port/)
    for (const entry of ['https://app.test:80', 'http://app.test:443', 'https://app.test:8443'])
      t.ok(compileOrigins([entry])(entry), entry)
  },
)
