// Written by `npm run gen`, not by hand.
import type { CommandEntry } from './command.ts'

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'api',
    description: 'Start the gateway alone',
    load: async () => (await import('./commands/api.ts')).default,
  },
  {
    name: 'auth',
    description: 'Manage accounts and rules',
    subcommands: ['list', 'create', 'update', 'delete', 'test', 'reset'],
    load: async () => (await import('./commands/auth.ts')).default,
  },
  {
    name: 'bench',
    description: 'Drive one route of a running gateway and measure it',
    load: async () => (await import('./commands/bench.ts')).default,
  },
  {
    name: 'broker',
    description: 'Publish messages and subscribe to them',
    subcommands: ['publish', 'subscribe'],
    load: async () => (await import('./commands/broker.ts')).default,
  },
  {
    name: 'call',
    description: 'Call an endpoint of a service',
    load: async () => (await import('./commands/call.ts')).default,
  },
  {
    name: 'completion',
    description: 'Complete commands, services and fields in a shell',
    load: async () => (await import('./commands/completion.ts')).default,
  },
  {
    name: 'config',
    description: 'Read and change the configuration of services',
    subcommands: ['get', 'set', 'del', 'list', 'history', 'rollback'],
    load: async () => (await import('./commands/config.ts')).default,
  },
  {
    name: 'dashboard',
    description: 'Start the dashboard alone, of an environment',
    load: async () => (await import('./commands/dashboard.ts')).default,
  },
  {
    name: 'doctor',
    description: 'Check this machine and the server, and say what to do',
    load: async () => (await import('./commands/doctor.ts')).default,
  },
  {
    name: 'env',
    description: 'List, select, add and delete environments',
    load: async () => (await import('./commands/env.ts')).default,
  },
  {
    name: 'events',
    description: 'Publish, consume, read and list events',
    subcommands: ['publish', 'consume', 'read', 'topics'],
    load: async () => (await import('./commands/events.ts')).default,
  },
  {
    name: 'gen',
    description: 'Write a client of services that run',
    load: async () => (await import('./commands/gen.ts')).default,
  },
  {
    name: 'kill',
    description: 'End what runs',
    load: async () => (await import('./commands/kill.ts')).default,
  },
  {
    name: 'login',
    description: 'Log in to an environment',
    load: async () => (await import('./commands/login.ts')).default,
  },
  {
    name: 'logout',
    description: 'Log out of an environment',
    load: async () => (await import('./commands/logout.ts')).default,
  },
  {
    name: 'logs',
    description: 'Show what a service has written',
    load: async () => (await import('./commands/logs.ts')).default,
  },
  {
    name: 'network',
    description: 'Show and make links between servers',
    subcommands: ['nodes', 'connections', 'routes', 'services', 'graph', 'connect'],
    load: async () => (await import('./commands/network.ts')).default,
  },
  {
    name: 'new',
    description: 'Begin a service, a plugin or a gateway',
    load: async () => (await import('./commands/new.ts')).default,
  },
  {
    name: 'registry',
    description: 'Show a service: versions, nodes, endpoints',
    subcommands: ['get'],
    load: async () => (await import('./commands/registry.ts')).default,
  },
  {
    name: 'run',
    description: 'Run a service from a folder or a repository',
    load: async () => (await import('./commands/run.ts')).default,
  },
  {
    name: 'server',
    description: 'Start the whole system',
    load: async () => (await import('./commands/server.ts')).default,
  },
  {
    name: 'services',
    description: 'List the services that are registered',
    load: async () => (await import('./commands/services.ts')).default,
  },
  {
    name: 'signup',
    description: 'Make an account, where there is a signup service',
    load: async () => (await import('./commands/signup.ts')).default,
  },
  {
    name: 'stats',
    description: 'Show request rates and resource usage of services',
    load: async () => (await import('./commands/stats.ts')).default,
  },
  {
    name: 'status',
    description: 'Show what runs',
    load: async () => (await import('./commands/status.ts')).default,
  },
  {
    name: 'store',
    description: 'Read and write records of the store',
    subcommands: ['read', 'list', 'write', 'delete', 'databases', 'tables', 'snapshot', 'restore'],
    load: async () => (await import('./commands/store.ts')).default,
  },
  {
    name: 'stream',
    description: 'Call an endpoint, and print the stream it answers with',
    load: async () => (await import('./commands/stream.ts')).default,
  },
  {
    name: 'update',
    description: 'Take what runs to its newest code, without losing a call',
    load: async () => (await import('./commands/update.ts')).default,
  },
  {
    name: 'user',
    description: 'Show who is logged in, a token, the namespace',
    load: async () => (await import('./commands/user.ts')).default,
  },
  {
    name: 'version',
    description: 'Show the version of this program',
    load: async () => (await import('./commands/version.ts')).default,
  },
]
