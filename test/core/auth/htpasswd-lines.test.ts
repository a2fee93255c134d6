import t from 'tap'
import { parseCallerLines } from '../../../core/auth/htpasswd-lines.ts'

const OPTIONS = { credential: /^[0-9a-f]{4}$/, credentialForm: 'four digits', namespace: 'mx' }

t.test('a line has an id, a credential and optional scopes', async (t) => {
  const lines = [
    'shop 00ff orders,read # a comment',
    '',
    '# all of it',
    '\tjane\t1234 ',
    'c 0000 a:b',
  ]
  t.same(parseCallerLines(lines, 'keys', OPTIONS), [
    {
      credential: '00ff',
      account: {
        ...{ id: 'shop', name: 'shop', type: 'user', issuer: 'mx', metadata: {} },
        scopes: ['orders', 'read'],
      },
    },
    {
      credential: '1234',
      account: { id: 'jane', name: 'jane', type: 'user', issuer: 'mx', metadata: {}, scopes: [] },
    },
    {
      credential: '0000',
      account: { id: 'c', name: 'c', type: 'user', issuer: 'mx', metadata: {}, scopes: ['a:b'] },
    },
  ])
})

t.test(
  'an error names the malformed line without its text, which may contain a secret',
  async (t) => {
    for (const line of ['shop secret', 'shop', 'a/b 00ff', 'shop 00ff a b', 'shop 00ff a,"b"']) {
      t.throws(() => parseCallerLines(['a 0000', line], 'keys.txt', OPTIONS), {
        message: 'keys.txt:2: expected an id, four digits and optional comma-separated scopes',
      })
    }
  },
)
