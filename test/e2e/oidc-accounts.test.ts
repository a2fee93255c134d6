// A server that also accepts tokens of an OpenID Connect issuer, whose users choose their own names.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openOidcIssuer } from '../fixtures/oidc-issuer.ts'
import { openServer } from '../fixtures/server.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

t.test('a user of an issuer cannot act as the account with the same id', async (t) => {
  const issuer = await openOidcIssuer(t)
  const file = join(makeTempFolder(t, 'oidc'), 'mx.yaml')
  const options = `{ issuer: '${issuer.issuer}', audience: [app], required: false }`
  writeFileSync(file, `plugins:\n  - oidc: ${options}\n`)
  const { get, post } = await openServer(t, [`--config=${file}`])
  const otherUser = { authorization: `Bearer ${await issuer.issue({ sub: 'admin' })}` }
  t.match(await get('/auth/rules/list', otherUser), { status: 200 }, 'the user is logged in')
  t.match(await post('/auth/revoke', { id: 'admin' }, otherUser), { status: 401 })
  const secrets = { id: 'admin', new_secret: 'a new secret' }
  t.match(await post('/auth/accounts/changeSecret', secrets, otherUser), { status: 401 })
  t.match(await get('/auth/accounts/list'), { status: 200 }, 'admin is still logged in')
  const account = { id: `${issuer.issuer}#admin`, secret: 'a secret of it' }
  t.match(await post('/auth/generate', account), { status: 400 }, 'no account has this id')
})
