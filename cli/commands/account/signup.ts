import { type Command, defineCommand } from '../../command.ts'
import { toAccountName, toNamespaceName } from '../../session/environments.ts'
import { findService } from '../../session/find-services.ts'
import { sessionFlags, type TokenReply, toCredentials, withSession } from '../../session/session.ts'
import { writeConfig } from '../../state/config.ts'
import { writeCredentials } from '../../state/tokens.ts'
import { CliError, EXIT } from '../../ui/output.ts'
import { prompt, readInput } from '../../ui/prompt.ts'

const SERVICE = 'signup'

interface SignupResponse {
  readonly authToken: TokenReply['token']
  readonly namespace: string
}

const command: Command = defineCommand({
  name: 'signup',
  description: 'Create an account through the signup service of an environment',
  flags: {
    '--email <email>': 'Email address of the account (default: prompt)',
    '--token <code>': 'Code sent to the email address (default: prompt)',
    '--password <password>': 'Password of the account (default: prompt)',
    '--password_stdin': 'Read the password from standard input',
    ...sessionFlags('Namespace of the signup service'),
  },
  examples: ['mx signup --env=platform', 'mx signup --env=platform --email=john@example.com'],
  async run(_, flags) {
    await withSession(flags, async (session) => {
      const { environment, callAnonymously: call } = session
      if ((await findService(session, SERVICE)).length === 0)
        throw new CliError(
          `${environment.name} has no signup service: ask its administrator for an account ('mx auth create account'), then 'mx login'`,
          { status: EXIT.unreachable },
        )
      const email = flags.email ?? (await prompt('Enter email: ', '--email'))
      await call(SERVICE, 'Signup.SendVerificationEmail', { email })
      const token = flags.token ?? (await prompt(`Enter the code sent to ${email}: `, '--token'))
      await call(SERVICE, 'Signup.Verify', { email, token })
      const secret = flags.password_stdin
        ? await readInput()
        : (flags.password ?? (await prompt('Choose a password: ', '--password', { hidden: true })))
      const response = await call<SignupResponse>(SERVICE, 'Signup.CompleteSignup', {
        email,
        token,
        secret,
      })
      const { namespace } = response
      const owner = { address: environment.address, namespace, account: email }
      await writeCredentials(owner, toCredentials({ token: response.authToken }))
      await writeConfig(toAccountName(environment), email)
      await writeConfig(toNamespaceName(environment), namespace)
      process.stdout.write('Signup complete! You are logged in.\n')
    })
  },
})

export default command
