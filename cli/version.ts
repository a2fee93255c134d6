import type { CAC } from 'cac'
import { checkNoWords, readCommandLine } from './args/args.ts'
import { OUTPUT_FLAGS, print, toFormat } from './ui/format.ts'

/** Shows the version of this program, and what it runs on. @throws {CliError} */
export async function runVersion(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, OUTPUT_FLAGS)
  checkNoWords(words, 'version')
  const { readVersion } = await import('../platform/process/version.ts')
  const { platform, arch, version: node } = process
  const told = { version: readVersion(), platform: `${platform}-${arch}`, node }
  await print(toFormat(flags), told, `mx/${told.version} ${told.platform} node-${told.node}\n`)
}
