import t from 'tap'
import {
  describeScope,
  findConsequence,
  formatResource,
  parseScopes,
} from '../../../web/auth/rules.ts'

t.test('scopes are said in words', (t) => {
  t.equal(describeScope('', 'mx'), 'everybody')
  t.equal(describeScope('*', 'acme'), 'all accounts of acme')
  t.equal(describeScope('+', 'acme'), 'all accounts of any namespace')
  t.equal(describeScope('admin', 'acme'), 'admin')
  t.end()
})

t.test('a resource is written as on the command line', (t) => {
  const resource = { type: 'service', name: 'auth', endpoint: 'Auth.*' }
  t.equal(formatResource(resource), 'service:auth:Auth.*')
  t.end()
})

t.test('what a change would cost is told without what the request has to say', (t) => {
  const detail =
    'no rule allows logins after this change: only operators can log in; set request.force (mx auth: --force) to do it nonetheless'
  t.equal(
    findConsequence(409, detail),
    'no rule allows logins after this change: only operators can log in',
  )
  t.equal(findConsequence(409, 'something else'), 'something else')
  t.equal(findConsequence(400, detail), undefined)
  t.end()
})

t.test('scopes are separated by commas or blanks, and each counts once', (t) => {
  t.strictSame(parseScopes(' admin, staff,,admin\n orders '), ['admin', 'staff', 'orders'])
  t.strictSame(parseScopes(' '), [])
  t.end()
})
