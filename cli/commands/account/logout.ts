import { type Command, defineCommand } from '../../command.ts'
import { toAccountName } from '../../session/environments.ts'
import { openSession, sessionFlags } from '../../session/session.ts'
import { writeConfig } from '../../state/config.ts'
import { readCredentials, writeCredentials } from '../../state/tokens.ts'
import { printProblems } from '../../ui/output.ts'

const command: Command = defineCommand({
  name: 'logout',
  description: 'Log out of an environment',
  flags: {
    ...sessionFlags('Namespace of the account'),
  },
  examples: ['mx logout', 'mx logout --env staging'],
  async run(_, flags) {
    const session = openSession(flags)
    try {
      const { environment, owner } = session
      const credentials = readCredentials(owner)
      // Revoked before the file is written, so that the token becomes invalid even if writing fails.
      if (credentials !== undefined)
        await session
          .callAnonymously('auth', 'Auth.Revoke', { refresh_token: credentials.refreshToken })
          .catch((error: Error) => printProblems([`token not revoked: ${error.message}`]))
      await writeCredentials(owner, undefined)
      await writeConfig(toAccountName(environment), '')
    } finally {
      session.close()
    }
  },
})

export default command
