import { print, toFormat } from '../ui/format.ts'

/** The output flag in all its forms (`-o json`, `-ojson`, `--output=json`), which `mx server` does not have. */
const OUTPUT = /^(?:-o|--output)(?:=?(.*))$/

/**
 * `mx auth reset`: restores operator access in the data of a stopped server (decision 32).
 *
 * @throws {SettingsError} for invalid flags, {@link Error} with a one-line message if the data cannot be used
 */
export async function runAuthReset(args: readonly string[]): Promise<void> {
  const { words, output } = extractOutput(args)
  const format = toFormat(output === undefined ? {} : { output })
  const { resetAccessOffline } = await import('../../platform/server/reset-access.ts')
  const { password, rules, notAudited } = await resetAccessOffline(words, process.env)
  const lines = [
    ...rules.map((id) => `Deleted the rule ${id}`),
    'Restored the rule default: anonymous callers may call every service. If access was restricted before, restrict it again.',
    `Password of admin: ${password.password} (stored in ${password.file})`,
    ...(notAudited === undefined ? [] : [`Not recorded in the audit log: ${notAudited}`]),
  ]
  await print(format, { account: 'admin', ...password, rules, notAudited }, `${lines.join('\n')}\n`)
}

/** Separates the output format from the flags of the server. */
function extractOutput(args: readonly string[]) {
  const words: string[] = []
  let output: string | undefined
  for (let i = 0; i < args.length; i++) {
    const [match, value] = OUTPUT.exec(args[i]!) ?? []
    if (match === undefined) words.push(args[i]!)
    else output = value || args[++i] || ''
  }
  return { words, output }
}
