import type { ComponentType } from 'preact'
import type { IconName } from './layout/icon.tsx'
import type { RouteProps } from './state/match-path.ts'

export interface PageEntry {
  /** Path pattern as in {@link match}. */
  readonly pattern: string
  readonly title: string
  /** Icon in the navigation. Pages without an icon are not listed. */
  readonly icon?: IconName
  readonly load: () => Promise<{ readonly default: ComponentType<RouteProps> }>
}

/** Pages in navigation order. Path parameters are passed in the property `parameters`. */
export const PAGES: readonly PageEntry[] = [
  {
    pattern: '/',
    title: 'Overview',
    icon: 'overview',
    load: () => import('./pages/overview.tsx'),
  },
  {
    pattern: '/services',
    title: 'Services',
    icon: 'services',
    load: () => import('./pages/services.tsx'),
  },
  {
    pattern: '/services/:name',
    title: 'Service',
    load: () => import('./pages/service.tsx'),
  },
  {
    pattern: '/runtime',
    title: 'Runtime',
    icon: 'runtime',
    load: () => import('./pages/runtime.tsx'),
  },
  {
    pattern: '/runtime/:name',
    title: 'Runtime',
    load: () => import('./pages/runtime-object.tsx'),
  },
  {
    pattern: '/config',
    title: 'Config',
    icon: 'config',
    load: () => import('./pages/config.tsx'),
  },
  {
    pattern: '/store',
    title: 'Store',
    icon: 'store',
    load: () => import('./pages/store.tsx'),
  },
  {
    pattern: '/events',
    title: 'Events',
    icon: 'events',
    load: () => import('./pages/events.tsx'),
  },
  {
    pattern: '/events/:topic',
    title: 'Events',
    load: () => import('./pages/topic.tsx'),
  },
  {
    pattern: '/gateway',
    title: 'Gateway',
    icon: 'gateway',
    load: () => import('./pages/gateway.tsx'),
  },
  {
    pattern: '/network',
    title: 'Network',
    icon: 'network',
    load: () => import('./pages/network.tsx'),
  },
  {
    pattern: '/auth',
    title: 'Access',
    icon: 'auth',
    load: () => import('./pages/auth.tsx'),
  },
]
