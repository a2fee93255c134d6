import t from 'tap'
import { compileOrigins, type OriginPolicy, refuseOrigin } from '../../core/origin-policy.ts'
import { TestExchange } from '../../sdk/testing.ts'

function isAllowed(policy: OriginPolicy, origins: readonly string[], host = 'app.test'): boolean {
  const x = new TestExchange({ host })
  for (const origin of origins) x.headers.append('origin', origin)
  return compileOrigins(policy)(x)
}

t.test('any: whoever asks', async (t) => {
  for (const origins of [[], ['https://a.test'], ['null'], ['nonsense'], ['a', 'b']])
    t.ok(isAllowed('any', origins))
})

t.test(
  'same-host: pages of the host the request names, and clients that are no browsers',
  async (t) => {
    const rows: [string[], string, boolean][] = [
      [[], 'app.test', true],
      [['https://app.test'], 'app.test', true],
      [['http://app.test'], 'app.test', true],
      [['HTTPS://App.Test'], 'app.TEST', true],
      [['https://app.test'], 'app.test:443', true],
      [['http://app.test:8080'], 'app.test:8080', true],
      [['http://[::1]:8080'], '[::1]:8080', true],
      [['https://app.test:8443'], 'app.test', false],
      [['https://app.test'], 'app.test:80', false],
      [['https://app.test.evil.test'], 'app.test', false],
      [['https://evil.test/app.test'], 'app.test', false],
      [['https://app.test@evil.test'], 'app.test', false],
      [['file://app.test'], 'app.test', false],
      [['null'], 'app.test', false],
      [[''], 'app.test', false],
      [['https://app.test', 'https://app.test'], 'app.test', false],
    ]
    for (const [origins, host, allowed] of rows)
      t.equal(isAllowed('same-host', origins, host), allowed, `${origins} ${host}`)
  },
)

t.test('listed origins, in any letter case, and no others', async (t) => {
  const policy = ['https://a.test', 'http://B.test:81', 'https://[::1]']
  const rows: [string[], boolean][] = [
    [[], true],
    [['https://a.test'], true],
    [['https://A.test'], true],
    [['http://b.test:81'], true],
    [['https://[::1]'], true],
    [['http://a.test'], false],
    [['https://a.test:444'], false],
    [['https://x.a.test'], false],
    [['https://app.test'], false],
    [['https://a.test', 'https://a.test'], false],
  ]
  for (const [origins, allowed] of rows) t.equal(isAllowed(policy, origins), allowed, `${origins}`)
  t.notOk(isAllowed([], ['https://a.test']), 'an empty list allows no page')
})

t.test('a list of what is no origin is refused when it is compiled', async (t) => {
  for (const text of [
    'a.test',
    'https://a.test/',
    'https://a.test:443',
    '*',
    '',
    'https://*.a.test',
    'null',
  ]) {
    t.throws(() => compileOrigins([text]), {
      name: 'TypeError',
      message: `origin must be scheme and host as in https://app.example.com, got ${JSON.stringify(text)}`,
    })
  }
})

t.test('who may not is told so, and nothing else', async (t) => {
  t.match(refuseOrigin('greeter').toBody(), { Id: 'greeter', Code: 403, Status: 'Forbidden' })
  t.match(refuseOrigin().toBody(), { Id: 'go.mx.api' })
})
