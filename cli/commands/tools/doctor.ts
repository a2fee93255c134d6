import { type Command, defineCommand } from '../../command.ts'
import type { Finding } from '../../doctor/finding.ts'
import { checkMachine } from '../../doctor/machine.ts'
import { checkServer } from '../../doctor/server.ts'
import { ENV_FLAG } from '../../session/session.ts'
import { OUTPUT_FLAGS, print, toFormat } from '../../ui/format.ts'
import { EXIT } from '../../ui/output.ts'

const LABELS = { ok: 'ok  ', note: 'WARN', bad: 'FAIL' } as const

const command: Command = defineCommand({
  name: 'doctor',
  description: 'Diagnose problems with this machine and the server',
  flags: {
    ...OUTPUT_FLAGS,
    ...ENV_FLAG,
    '--namespace <name>': 'Namespace of the login (default: namespace of the last login)',
  },
  examples: ['mx doctor', 'mx doctor --env dev -o json'],
  async run(_, flags) {
    const format = toFormat(flags)
    const server = await checkServer(flags)
    const findings = [...(await checkMachine(server.canStart)), ...server.findings]
    await print(format, findings, findings.map(formatFinding).join(''))
    if (findings.some(({ state }) => state === 'bad')) process.exitCode = EXIT.failed
  },
})

export default command

function formatFinding({ state, what, found, advice }: Finding): string {
  const hint = advice === undefined ? '' : `\n${' '.repeat(6)}${advice}`
  return `${LABELS[state]}  ${what}: ${found}${hint}\n`
}
