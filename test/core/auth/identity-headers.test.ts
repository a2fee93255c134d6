import t from 'tap'
import { withCaller } from '../../../core/auth/identity-headers.ts'
import { createAccount } from '../../fixtures/auth-source.ts'

const JANE = createAccount()
const IDENTITY_HEADERS =
  'mx-account: {"id":"jane","name":"jane","type":"user","issuer":"mx","scopes":[],"metadata":{}}\r\n'

t.test('mx-account and mx-address of the caller are replaced with the verified ones', (t) => {
  t.equal(withCaller('', undefined), '')
  t.equal(withCaller('x-a: 1\r\n', undefined), 'x-a: 1\r\n')
  t.equal(withCaller('x-a: 1\r\n', JANE), `${IDENTITY_HEADERS}x-a: 1\r\n`)
  t.equal(withCaller('x-a: 1\r\n', JANE, '::1'), `mx-address: ::1\r\n${IDENTITY_HEADERS}x-a: 1\r\n`)
  const forged = 'mx-account: {"id":"admin"}\r\nmx-address: 10.0.0.1\r\n'
  t.equal(withCaller(`${forged}x-a: 1\r\n${forged}${forged}`), 'x-a: 1\r\n')
  t.equal(withCaller(`${forged}x-a: 1\r\n${forged}`, JANE), `${IDENTITY_HEADERS}x-a: 1\r\n`)
  t.equal(
    withCaller('x-mx-account: 1\r\nmx-accounts: 2\r\n'),
    'x-mx-account: 1\r\nmx-accounts: 2\r\n',
  )
  t.end()
})

t.test('a long block of forged accounts is removed within 100 ms', (t) => {
  const startMs = performance.now()
  t.equal(withCaller('mx-account: 1\r\n'.repeat(4000)), '')
  t.ok(performance.now() - startMs < 100)
  t.end()
})
