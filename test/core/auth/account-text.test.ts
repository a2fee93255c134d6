import t from 'tap'
import { formatAccount } from '../../../core/auth/account-text.ts'
import { isMetadata } from '../../../core/rpc/metadata.ts'
import { createContext } from '../../../sdk/context.ts'
import { createAccount } from '../../fixtures/auth-source.ts'

t.test(
  'an account with arbitrary characters is formatted as ASCII and parsed back unchanged',
  async (t) => {
    for (const name of ['Jane', 'Jörg', '日本', '\u007f\u0000\r\nmx-x: y', '😀', '"\\']) {
      const account = createAccount({ id: 'a', name, metadata: { [name]: name } })
      const text = formatAccount(account)
      t.match(text, /^[\x20-\x7e]+$/)
      t.ok(isMetadata(`mx-account: ${text}\r\n`))
      t.strictSame({ ...createContext({ metadata: { 'mx-account': text } }).account }, account)
    }
  },
)

t.test('the text of an account is formatted once', async (t) => {
  const account = createAccount()
  t.equal(formatAccount(account), formatAccount(account))
  t.not(formatAccount(account), formatAccount({ ...account, name: 'Joe' }))
})

t.test('unknown properties of an account are not formatted', async (t) => {
  t.notMatch(formatAccount({ ...createAccount(), hash: 'secret' } as never), 'secret')
})
