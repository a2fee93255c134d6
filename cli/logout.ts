import type { CAC } from 'cac'
import { checkNoWords, readCommandLine } from './args/args.ts'
import { toAccountName } from './session/environments.ts'
import { openSession, SESSION_FLAGS } from './session/session.ts'
import { writeConfig } from './state/config.ts'
import { readCredentials, writeCredentials } from './state/tokens.ts'
import { printProblems } from './ui/output.ts'

/** Forgets who is logged in; the platform is told, so that what was known is good for nothing any more. */
export async function logOut(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, SESSION_FLAGS)
  checkNoWords(words, 'logout')
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
}
