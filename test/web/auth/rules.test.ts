import t from 'tap'
import {
  describeScope,
  findConsequence,
  formatResource,
  parseScopes,
} from '../../../web/auth/rules.ts'

t.test('describes scopes in plain words', (t) => {
  t.equal(describeScope('', 'mx'), 'everyone')
  t.equal(describeScope('*', 'acme'), 'all accounts of acme')
  t.equal(describeScope('+', 'acme'), 'all accounts of any namespace')
  t.equal(describeScope('admin', 'acme'), 'admin')
  t.end()
})

t.test('formats a resource as on the command line', (t) => {
  const resource = { type: 'service', name: 'auth', endpoint: 'Auth.*' }
  t.equal(formatResource(resource), 'service:auth:Auth.*')
  t.end()
})

t.test('extracts the consequence of a rule change without the hint for the request', (t) => {
  const detail =
    'no rule allows logins after this change: only operators can log in; set request.force (mx auth: --force) to apply it anyway'
  t.equal(
    findConsequence(409, detail),
    'no rule allows logins after this change: only operators can log in',
  )
  t.equal(findConsequence(409, 'something else'), 'something else')
  t.equal(findConsequence(400, detail), undefined)
  t.end()
})

t.test('parses scopes separated by commas or spaces, without duplicates', (t) => {
  t.strictSame(parseScopes(' admin, staff,,admin\n orders '), ['admin', 'staff', 'orders'])
  t.strictSame(parseScopes(' '), [])
  t.end()
})
