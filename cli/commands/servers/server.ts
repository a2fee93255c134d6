import { inlineMore } from '../../../lib/process/inline-more.ts'
import { type Command, defineCommand } from '../../command.ts'

const command: Command = defineCommand({
  name: 'server',
  description: 'Start the platform: gateway, services, runtime and dashboard',
  settings: 'server',
  examples: [
    'mx server',
    'mx server --profile=test --address :9080',
    'mx server --store=postgres://mx@db/mx --registry=consul://127.0.0.1:8500',
  ],
  async runRaw(args) {
    const { runServer } = await import('../../../platform/server/run-server.ts')
    await runServer(args, process.env)
    inlineMore()
  },
})

export default command
