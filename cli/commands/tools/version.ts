import { type Command, defineCommand } from '../../command.ts'
import { OUTPUT_FLAGS, print, toFormat } from '../../ui/format.ts'

const command: Command = defineCommand({
  name: 'version',
  description: 'Show the version of this program',
  flags: OUTPUT_FLAGS,
  examples: ['mx version', 'mx version -o json'],
  async run(_, flags) {
    const { readVersion } = await import('../../../platform/process/version.ts')
    const { platform, arch, version: node } = process
    const info = { version: readVersion(), platform: `${platform}-${arch}`, node }
    await print(toFormat(flags), info, `mx/${info.version} ${info.platform} node-${info.node}\n`)
  },
})

export default command
