// Written by `npm run gen`, not by hand.
import type { CommandEntry } from './command.ts'

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'api',
    description: 'Start a standalone gateway',
    load: async () => (await import('./commands/servers/api.ts')).default,
  },
  {
    name: 'auth',
    description: 'Manage accounts and rules',
    subcommands: ['list', 'create', 'update', 'delete', 'test', 'reset'],
    load: async () => (await import('./commands/platform/auth.ts')).default,
  },
  {
    name: 'bench',
    description: 'Load-test one route of a running gateway',
    load: async () => (await import('./commands/tools/bench.ts')).default,
  },
  {
    name: 'broker',
    description: 'Publish and subscribe to messages',
    subcommands: ['publish', 'subscribe'],
    load: async () => (await import('./commands/platform/broker.ts')).default,
  },
  {
    name: 'call',
    description: 'Call an endpoint of a service',
    load: async () => (await import('./commands/calls/call.ts')).default,
  },
  {
    name: 'completion',
    description: 'Print the completion script of a shell',
    load: async () => (await import('./commands/tools/completion.ts')).default,
  },
  {
    name: 'config',
    description: 'Read and change the configuration of services',
    subcommands: ['get', 'set', 'del', 'list', 'history', 'rollback'],
    load: async () => (await import('./commands/platform/config.ts')).default,
  },
  {
    name: 'dashboard',
    description: 'Start a standalone dashboard for an environment',
    load: async () => (await import('./commands/servers/dashboard.ts')).default,
  },
  {
    name: 'doctor',
    description: 'Diagnose problems of this machine and the server',
    load: async () => (await import('./commands/tools/doctor.ts')).default,
  },
  {
    name: 'env',
    description: 'List, select, add and delete environments',
    load: async () => (await import('./commands/account/env.ts')).default,
  },
  {
    name: 'events',
    description: 'Publish, consume, read and list events',
    subcommands: ['publish', 'consume', 'read', 'topics'],
    load: async () => (await import('./commands/platform/events.ts')).default,
  },
  {
    name: 'gen',
    description: 'Generate a client of running services',
    load: async () => (await import('./commands/tools/gen.ts')).default,
  },
  {
    name: 'kill',
    description: 'Stop and delete a service',
    load: async () => (await import('./commands/runtime/kill.ts')).default,
  },
  {
    name: 'login',
    description: 'Log in to an environment',
    load: async () => (await import('./commands/account/login.ts')).default,
  },
  {
    name: 'logout',
    description: 'Log out of an environment',
    load: async () => (await import('./commands/account/logout.ts')).default,
  },
  {
    name: 'logs',
    description: 'Show the logs of a service',
    load: async () => (await import('./commands/runtime/logs.ts')).default,
  },
  {
    name: 'network',
    description: 'Show and create links between servers',
    subcommands: ['nodes', 'connections', 'routes', 'services', 'graph', 'connect'],
    load: async () => (await import('./commands/platform/network.ts')).default,
  },
  {
    name: 'new',
    description: 'Create a service, plugin or gateway project',
    load: async () => (await import('./commands/tools/new.ts')).default,
  },
  {
    name: 'nodes',
    description: 'Show, drain and restore the nodes of services',
    load: async () => (await import('./commands/platform/nodes.ts')).default,
  },
  {
    name: 'registry',
    description: 'Show the versions, nodes and endpoints of a service',
    subcommands: ['get'],
    load: async () => (await import('./commands/platform/registry.ts')).default,
  },
  {
    name: 'run',
    description: 'Run a service from a folder or a repository',
    load: async () => (await import('./commands/runtime/run.ts')).default,
  },
  {
    name: 'server',
    description: 'Start the platform: gateway, services, runtime and dashboard',
    load: async () => (await import('./commands/servers/server.ts')).default,
  },
  {
    name: 'services',
    description: 'List registered services',
    load: async () => (await import('./commands/calls/services.ts')).default,
  },
  {
    name: 'signup',
    description: 'Create an account through the signup service of an environment',
    load: async () => (await import('./commands/account/signup.ts')).default,
  },
  {
    name: 'stats',
    description: 'Show request rates and resource usage of services',
    load: async () => (await import('./commands/calls/stats.ts')).default,
  },
  {
    name: 'status',
    description: 'Show the services that the platform runs',
    load: async () => (await import('./commands/runtime/status.ts')).default,
  },
  {
    name: 'store',
    description: 'Read and write store records',
    subcommands: ['read', 'list', 'write', 'delete', 'databases', 'tables', 'snapshot', 'restore'],
    load: async () => (await import('./commands/platform/store.ts')).default,
  },
  {
    name: 'stream',
    description: 'Call a streaming endpoint and print its responses',
    load: async () => (await import('./commands/calls/stream.ts')).default,
  },
  {
    name: 'update',
    description: 'Deploy the latest code of a service without downtime',
    load: async () => (await import('./commands/runtime/update.ts')).default,
  },
  {
    name: 'user',
    description: 'Show the logged-in account, its token and its namespace',
    load: async () => (await import('./commands/account/user.ts')).default,
  },
  {
    name: 'version',
    description: 'Show the version of this program',
    load: async () => (await import('./commands/tools/version.ts')).default,
  },
]
