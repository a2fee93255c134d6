import type { DraftKey } from '../state/draft-storage.ts'

/** Draft of the form that explains a request. */
export const EXPLAIN_DRAFT: DraftKey = ['gateway', 'explain']

export const NO_REQUEST = {
  method: 'GET',
  path: '',
  headers: '',
  body: '',
  client: '',
  listener: '',
  /** Empty: as the listener. */
  scheme: '' as '' | 'http' | 'https',
  asCaller: true,
}
