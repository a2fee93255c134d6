/** Id used in the dashboard's own errors. */
export const ID = 'dashboard'
