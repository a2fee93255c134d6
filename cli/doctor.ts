import type { CAC } from 'cac'
import { checkNoWords, readCommandLine } from './args/args.ts'
import type { Finding } from './doctor/finding.ts'
import { checkMachine } from './doctor/machine.ts'
import { checkServer } from './doctor/server.ts'
import { SESSION_FLAGS } from './session/session.ts'
import { OUTPUT_FLAGS, print, toFormat } from './ui/format.ts'
import { EXIT } from './ui/output.ts'

const FLAGS = { ...SESSION_FLAGS, ...OUTPUT_FLAGS } as const
const MARKS = { ok: 'ok  ', note: 'note', bad: 'BAD ' } as const

/** Looks for what keeps things from working; the exit status: 1 where something was found. @throws {CliError} */
export async function runDoctor(cli: CAC): Promise<number> {
  const { words, flags } = readCommandLine(cli, FLAGS)
  checkNoWords(words, 'doctor')
  const format = toFormat(flags)
  const server = await checkServer(flags)
  const findings = [...(await checkMachine(server.canStart)), ...server.findings]
  await print(format, findings, findings.map(formatFinding).join(''))
  return findings.some(({ state }) => state === 'bad') ? EXIT.failed : EXIT.ok
}

function formatFinding({ state, what, found, advice }: Finding): string {
  const hint = advice === undefined ? '' : `\n${' '.repeat(6)}${advice}`
  return `${MARKS[state]}  ${what}: ${found}${hint}\n`
}
