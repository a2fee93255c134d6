import t from 'tap'
import signupCommand from '../../../../cli/commands/account/signup.ts'
import { readConfig } from '../../../../cli/state/config.ts'
import { readCredentials } from '../../../../cli/state/tokens.ts'
import { Type } from '../../../../core/schema.ts'
import { badRequest } from '../../../../sdk/errors.ts'
import { endpoint } from '../../../../sdk/service/endpoint.ts'
import { Service } from '../../../../sdk/service/service.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'
import { createQuietLog } from '../../../fixtures/sdk-services.ts'

const { run, proxy } = await openCliServer(t)
const EMAIL = 'john@example.com'

t.test('without a signup service, signup exits 4 with advice', async (t) => {
  await t.rejects(run(signupCommand), {
    message: /^local has no signup service: ask its administrator for an account/,
    status: 4,
  })
})

t.test('signup verifies the email, creates the account and logs in', async (t) => {
  const requests: unknown[] = []
  const Text = Type.Optional(Type.String())
  const request = Type.Object({ email: Type.String(), token: Text, secret: Text })
  const toPublic = (name: object): object => {
    requests.push(name)
    return {}
  }
  const signup = new Service({
    name: 'signup',
    proxy,
    auth: { id: 'admin', secret: 'mx' },
    log: createQuietLog().log,
  }).handle('Signup', {
    sendVerificationEmail: endpoint({ request, handle: toPublic }),
    verify: endpoint({
      request,
      handle(input) {
        if (input.token !== '123456') throw badRequest('signup', 'that is not the code')
        return toPublic(input)
      },
    }),
    completeSignup: endpoint({
      request,
      handle: (input) => ({
        ...toPublic(input),
        authToken: { access_token: 'a', refresh_token: 'r', expiry: 2_000_000_000 },
        namespace: 'johns',
      }),
    }),
  })
  await signup.start()
  t.teardown(() => signup.stop())
  const args = [`--email=${EMAIL}`, '--password=secret'] as const
  await t.rejects(run(signupCommand, ...args, '--token=1'), {
    message: 'that is not the code',
  })
  t.match(await run(signupCommand, ...args, '--token=123456'), /^Signup complete/)
  t.same(requests.at(-1), { email: EMAIL, token: '123456', secret: 'secret' })
  t.equal(readConfig().get('local.current-user'), EMAIL)
  t.equal(readConfig().get('namespaces.local.current'), 'johns')
  t.match(readCredentials({ address: proxy, namespace: 'johns', account: EMAIL }), {
    accessToken: 'a',
  })
})
