import t from 'tap'
import { parseBalance } from '../../../../core/upstream/balance/parse-balance.ts'
import type { BalanceOptions } from '../../../../core/upstream/balance/policy.ts'

t.test('every form of the grammar is parsed', async (t) => {
  const cases: [string, BalanceOptions][] = [
    ['round-robin', { kind: 'round-robin' }],
    [' p2c ', { kind: 'p2c' }],
    ['random', { kind: 'random' }],
    ['least-conn', { kind: 'least-conn' }],
    ['hash:ip', { kind: 'hash', hashOf: { from: 'ip', name: '' } }],
    ['hash:path', { kind: 'hash', hashOf: { from: 'path', name: '' } }],
    ['hash:header:X-User', { kind: 'hash', hashOf: { from: 'header', name: 'x-user' } }],
    ['hash:cookie:Sid', { kind: 'hash', hashOf: { from: 'cookie', name: 'Sid' } }],
    ['sticky', { kind: 'round-robin', sticky: {} }],
    ['sticky:p2c', { kind: 'p2c', sticky: {} }],
    ['sticky:sid', { kind: 'round-robin', sticky: { cookie: 'sid' } }],
    ['sticky:sid:least-conn', { kind: 'least-conn', sticky: { cookie: 'sid' } }],
    ['sticky:hash:ip', { kind: 'hash', hashOf: { from: 'ip', name: '' }, sticky: {} }],
    [
      'sticky:sid:hash:header:x-user',
      { kind: 'hash', hashOf: { from: 'header', name: 'x-user' }, sticky: { cookie: 'sid' } },
    ],
  ]
  for (const [text, options] of cases) t.same(parseBalance(text), options, text)
})

t.test('the error for an invalid value shows the valid ones', async (t) => {
  const cases: [string, RegExp][] = [
    ['', /^balance must be round-robin, random, .*hash:header:<name>.*sticky:<cookie>:, got ""$/],
    ['roundrobin', /got "roundrobin"; did you mean round-robin\?$/],
    ['P2C', /did you mean p2c\?$/],
    ['p2c:3', /^balance p2c takes no parameters, got "3"$/],
    ['hash', /^balance hash must use header:<name>, cookie:<name>, ip or path, got ""$/],
    ['hash:header', /^balance hash:header must name a header, as in hash:header:x-user, got ""$/],
    ['hash:cookie:a b', /must name a cookie.*got "a b"$/],
    ['hash:ip:4', /got "ip:4"$/],
    ['hash:header:a:b', /got "header:a:b"$/],
    ['hash:body', /got "body"$/],
    ['sticky:', /^sticky cookie must be a name such as sid, got ""$/],
    ['sticky:a;b', /got "a;b"$/],
    ['sticky:sid:nope', /^balance must be .*got "nope"$/],
    ['sticky:sid:', /got ""$/],
  ]
  for (const [text, message] of cases) {
    t.throws(() => parseBalance(text), { name: 'RangeError', message }, JSON.stringify(text))
  }
})
