import { purgeCache } from '../../api/cache-client.ts'
import { type Command, defineCommand } from '../../command.ts'
import { OUTPUT_FLAGS, print, toFormat } from '../../ui/format.ts'
import { usageError } from '../../ui/output.ts'

const command: Command = defineCommand({
  name: 'cache',
  description: 'Remove responses stored by the cache plugin of a gateway',
  usage: 'purge --admin <host:port> [--path <path>] [--group <group>] [--service <service>]',
  flags: {
    '--admin <host:port>': 'Admin address of the gateway',
    '--admin_token <token>': 'Admin token of the gateway (default: MX_ADMIN_TOKEN)',
    '--path <path>': 'Path with any query; * at the end matches all paths that start like it',
    '--group <group>': 'Name in Cache-Groups or Surrogate-Key',
    '--service <service>': 'Service that sent the responses',
    '--origin <url>': 'Scheme and host, such as https://example.org',
    '--namespace <namespace>': 'Namespace of the requests',
    '--all': 'All stored responses',
    ...OUTPUT_FLAGS,
  },
  examples: [
    'mx cache purge --admin 127.0.0.1:8089 --path "/products/*"',
    'mx cache purge --admin 127.0.0.1:8089 --group product-7',
  ],
  summaries: { purge: 'Remove stored responses in all processes of the gateway' },
  subcommands: {
    purge: async (_args, flags) => {
      const format = toFormat(flags)
      const { admin, admin_token: token = process.env['MX_ADMIN_TOKEN'] ?? '' } = flags
      if (admin === undefined) throw usageError('cache', '--admin is required')
      if (!/^[^/\s]+:\d+$/.test(admin))
        throw usageError('cache', `Invalid --admin: ${admin}, must be <host>:<port>`)
      const { path, group, service, origin, namespace, all } = flags
      const selection = { path, group, service, origin, namespace }
      if (all !== true && Object.values(selection).every((value) => value === undefined))
        throw usageError('cache', 'Select responses with --path, --group, --service or --all')
      const removed = await purgeCache(`http://${admin}`, token, {
        ...selection,
        ...(all === true && { all }),
      })
      await print(format, { removed }, `removed ${removed} responses\n`)
    },
  },
})

export default command
