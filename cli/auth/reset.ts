import { print, toFormat } from '../ui/format.ts'

/** Flag of the output format, which is not one of `mx server`: `-o json`, `-ojson`, `--output=json`. */
const OUTPUT = /^(?:-o|--output)(?:=?(.*))$/

/**
 * `mx auth reset`: restores the access of operators in the data of a stopped server (decision 32).
 *
 * @throws {SettingsError} for wrong flags, {@link Error} with one line when the data cannot be used.
 */
export async function runAuthReset(args: readonly string[]): Promise<void> {
  const { words, output } = takeOutput(args)
  const format = toFormat(output === undefined ? {} : { output })
  const { resetAccessOffline } = await import('../../platform/server/reset-access.ts')
  const { password, rules, notAudited } = await resetAccessOffline(words, process.env)
  const lines = [
    ...rules.map((id) => `Deleted the rule ${id}`),
    'Restored the rule default: everybody may call every service. Close the platform again if it was closed.',
    `Password of admin: ${password.password} (also in ${password.file})`,
    ...(notAudited === undefined ? [] : [`The audit has no event of this: ${notAudited}`]),
  ]
  await print(format, { account: 'admin', ...password, rules, notAudited }, `${lines.join('\n')}\n`)
}

/** The flags of the server, and the output format. */
function takeOutput(args: readonly string[]) {
  const words: string[] = []
  let output: string | undefined
  for (let i = 0; i < args.length; i++) {
    const [found, value] = OUTPUT.exec(args[i]!) ?? []
    if (found === undefined) words.push(args[i]!)
    else output = value || args[++i] || ''
  }
  return { words, output }
}
