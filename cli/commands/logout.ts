import { type Command, defineCommand } from '../command.ts'
import { toAccountName } from '../session/environments.ts'
import { openSession, sessionFlags } from '../session/session.ts'
import { writeConfig } from '../state/config.ts'
import { readCredentials, writeCredentials } from '../state/tokens.ts'
import { printProblems } from '../ui/output.ts'

const command: Command = defineCommand({
  name: 'logout',
  description: 'Log out of an environment',
  flags: {
    ...sessionFlags('Namespace of the account'),
  },
  examples: ['mx logout --env staging'],
  async run(_, flags) {
    const session = openSession(flags)
    try {
      const { environment, owner } = session
      const kept = readCredentials(owner)
      // First, so that it is good for nothing any more also where the file cannot be written.
      if (kept !== undefined)
        await session
          .callAnonymously('auth', 'Auth.Revoke', { refresh_token: kept.refreshToken })
          .catch((error: Error) => printProblems([`the server was not told: ${error.message}`]))
      await writeCredentials(owner, undefined)
      await writeConfig(toAccountName(environment), '')
    } finally {
      session.close()
    }
  },
})

export default command
