import t from 'tap'
import { compileOriginPolicy, rejectOrigin } from '../../../../core/http/origin/origin-policy.ts'
import { TestExchange } from '../../../../sdk/testing.ts'

function isAllowed(listed: readonly string[], origins: readonly string[]): boolean {
  return compileOriginPolicy(listed)(new TestExchange({ headers: { origin: origins } }))
}

t.test('listed origins are allowed in any letter case, other origins are not', async (t) => {
  const listed = ['https://a.test', 'http://B.test:81', 'https://[::1]']
  const rows: [string[], boolean][] = [
    [[], true],
    [['https://a.test'], true],
    [['https://A.test'], true],
    [['http://b.test:81'], true],
    [['https://[::1]'], true],
    [['http://a.test'], false],
    [['https://a.test:444'], false],
    [['https://x.a.test'], false],
    [['http://localhost'], false],
    [['null'], false],
    [[''], false],
    [['https://a.test', 'https://a.test'], false],
  ]
  for (const [origins, allowed] of rows) t.equal(isAllowed(listed, origins), allowed, `${origins}`)
  t.notOk(isAllowed([], ['https://a.test']), 'an empty list allows no origin')
  t.ok(isAllowed([], []), 'a request without an origin is allowed')
})

t.test('a list with a malformed origin is rejected when it is compiled', async (t) => {
  for (const text of [
    'a.test',
    'https://a.test/',
    'https://a.test:443',
    '*',
    '',
    'https://*.a.test',
    'null',
  ]) {
    t.throws(() => compileOriginPolicy([text]), {
      name: 'TypeError',
      message: `origin must be a scheme and host such as https://app.example.com, got ${JSON.stringify(text)}`,
    })
  }
})

t.test('rejects a disallowed origin with 403', async (t) => {
  t.strictSame(rejectOrigin('greeter').toBody(), {
    Id: 'greeter',
    Code: 403,
    Detail: 'WebSockets from this origin are not allowed',
    Status: 'Forbidden',
  })
})
