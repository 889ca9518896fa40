"""The thread page: an issue as people see it, where one person writes as several and watches the bot answer."""
