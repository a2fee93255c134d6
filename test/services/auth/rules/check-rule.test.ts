import t from 'tap'
import type { RuleMessage } from '../../../../services/auth/messages.ts'
import { toResource, toRule } from '../../../../services/auth/rules/check-rule.ts'

const ID = 'auth.Rules.Create'
const RULE: RuleMessage = {
  ...{ id: 'login', scope: '', access: 'GRANTED', priority: 0 },
  resource: { type: 'service', name: 'auth', endpoint: '*' },
}
const EMPTY_RESOURCE = { type: '', name: '', endpoint: '' }

t.test('parses a rule of a request', (t) => {
  t.same(toRule(RULE, ID), RULE)
  for (const scope of ['*', '+', 'admin', 'billing:read'])
    t.equal(toRule({ ...RULE, scope }, ID).scope, scope)
  t.equal(toRule({ ...RULE, scope: '<public>' }, ID).scope, '', 'the notation for people')
  for (const endpoint of ['*', 'Auth.Token', 'Auth.*', '/', '/a/b', '/a/*', '/*'])
    t.equal(
      toRule({ ...RULE, resource: { ...RULE.resource, endpoint } }, ID).resource.endpoint,
      endpoint,
    )
  t.end()
})

t.test('reports the missing part of a rule', (t) => {
  const cases: [Partial<RuleMessage>, string][] = [
    [{ id: '', scope: '', access: '', resource: EMPTY_RESOURCE }, 'Rule missing'],
    [{ id: '' }, 'ID missing'],
    [{ resource: EMPTY_RESOURCE }, 'Resource missing'],
    [{ access: '' }, 'Access missing'],
    [{ access: 'UNKNOWN' }, 'Access missing'],
  ]
  for (const [input, message] of cases)
    t.throws(() => toRule({ ...RULE, ...input }, ID), { id: ID, code: 400, message })
  t.end()
})

t.test('reports the invalid part of a rule and the expected form', (t) => {
  const resource = (part: object) => ({ resource: { ...RULE.resource, ...part } })
  const cases: [Partial<RuleMessage>, RegExp][] = [
    [{ id: 'a/b' }, /^request\.rule\.id must be at most 128 characters/],
    [{ id: 'x'.repeat(129) }, /^request\.rule\.id /],
    [{ scope: 'a b' }, /^request\.rule\.scope must be empty for everyone, \*, \+ or .*got "a b"$/],
    [{ scope: '<others>' }, /^request\.rule\.scope /],
    [{ access: 'granted' }, /^request\.rule\.access must be GRANTED or DENIED, got "granted"$/],
    [resource({ type: '' }), /^request\.rule\.resource\.type must be \*, or letters/],
    [resource({ type: 'a:b' }), /^request\.rule\.resource\.type /],
    [resource({ name: '' }), /^request\.rule\.resource\.name /],
    [
      resource({ name: 'go.mx.*' }),
      /^request\.rule\.resource\.name must be \*, or a full name without/,
    ],
    [resource({ endpoint: '' }), /^request\.rule\.resource\.endpoint /],
    [
      resource({ endpoint: 'Auth*' }),
      /^request\.rule\.resource\.endpoint .*Handler\.\* or \/path\/\*/,
    ],
    [resource({ endpoint: '/a/*/b' }), /^request\.rule\.resource\.endpoint /],
    [resource({ endpoint: '/a b' }), /^request\.rule\.resource\.endpoint /],
  ]
  for (const [input, message] of cases)
    t.throws(() => toRule({ ...RULE, ...input }, ID), { id: ID, code: 400, message })
  t.throws(() => toResource(EMPTY_RESOURCE, 'request.resource', ID), {
    message: /^request\.resource\.type /,
  })
  t.end()
})
