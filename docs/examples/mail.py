#!/usr/bin/python3
"""For `command` of a section notify: sends the event on standard input as a mail.

usage: mail.py RECIPIENT... [--from SENDER] [--server HOST[:PORT]]

By SMTP and not by sendmail, which most mail servers have setgid: zkleader-notify has no rights to gain by that.
A status other than 0 has the event sent again later.
"""
import argparse
import email.message
import json
import smtplib
import socket
import sys

parser = argparse.ArgumentParser()
parser.add_argument("recipients", nargs="+")
parser.add_argument("--from", dest="sender", default="zkleader@" + socket.getfqdn())
parser.add_argument("--server", default="localhost:25")
args = parser.parse_args()

event = json.load(sys.stdin)
mail = email.message.EmailMessage()
mail["Subject"] = f"zkleader: {event['event']}: {event['task'] or event['node'] or event['version']}"
mail["From"], mail["To"] = args.sender, ", ".join(args.recipients)
mail["Message-ID"] = f"<{event['id']}@zkleader>"  # the same when it comes twice: many mailboxes keep one
lines = [event["text"] or "", ""]
lines += [f"{key}: {event[key]}" for key in ("task", "tick", "attempt", "exit_status", "node", "version", "token", "time")
          if event[key] is not None]
if event["output"]:
    lines += ["", "The last of its output:", "", event["output"]]
mail.set_content("\n".join(lines))
host, _, port = args.server.partition(":")
with smtplib.SMTP(host, int(port or 25), timeout=20) as server:
    server.send_message(mail)
